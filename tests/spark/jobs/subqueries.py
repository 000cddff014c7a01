"""Sub-queries that look out of themselves, in every place; CTEs in CTEs; windows over windows; structs rebuilt."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("subqueries").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
c.createOrReplaceTempView("c")
out = f"{work()}/out"

QUERIES = {
    "above_its_average": """select order_id from o
        where amount > (select avg(x.amount) from o x where x.customer_id = o.customer_id and x.status = 'paid')""",
    "above_the_average": "select status from o group by status having sum(amount) > (select avg(amount) from o)",
    "pair": """select order_id from o
        where (customer_id, status) in (select customer_id, 'paid' from c where country = 'pl')""",
    "either": """select order_id from o
        where exists (select 1 from c where c.customer_id = o.customer_id and c.country = 'pl') or amount > 20""",
    "chosen": """select case when customer_id in (select customer_id from c where country = 'pl') then 'home'
        else status end k from o""",
    "nested": """with a as (with b as (select * from o where amount > 1) select customer_id, count(*) n from b group by 1),
        d as (select a.*, (select max(n) from a) mx from a)
        select d.customer_id, d.n / d.mx share, c.name from d left join c on c.customer_id = d.customer_id
        where exists (select 1 from a where a.n = d.n)""",
    "chain": """with a as (select * from o), b as (select customer_id, amount from a),
        d as (select customer_id, sum(amount) t from b group by customer_id),
        e as (select d.t, c.name from d join c on d.customer_id = c.customer_id)
        select name, t from e union all select name, -t from e""",
    "over": """select *, sum(amt) over (order by rn) cum from
        (select customer_id, amount amt, row_number() over (partition by customer_id order by day) rn from o)
        where rn <= 2""",
    "latest_before": """select a.order_id, max_by(b.status, b.day) s from o a
        left join o b on a.customer_id = b.customer_id and b.day <= a.day group by a.order_id""",
    "three": """select a.order_id, b.name, d.status from o a join c b on a.customer_id = b.customer_id
        join o d on d.order_id = a.order_id + 1 where b.country = 'pl' and a.amount < d.amount""",
    "sides": "(select order_id k from o order by amount limit 2) union all (select customer_id from c)",
    "struct": "select named_struct('a', order_id, 'b', named_struct('c', status, 'd', amount)) s from o",
    "collected": """select transform(collect_list(struct(amount, status)), x -> x.amount * 2) t,
        aggregate(collect_list(amount), cast(0 as double), (acc, x) -> acc + x) g,
        zip_with(collect_list(amount), collect_list(day), (a, b) -> concat(a, b)) z from o group by customer_id""",
    "same": "select if(amount > 3, status, status) s from o",
}
for name, query in QUERIES.items():
    spark.sql(query).write.parquet(f"{out}/{name}")
s = spark.read.parquet(f"{out}/struct")
again = F.struct(F.col("s.a").alias("x"), F.col("s.b.d").alias("y"))
s.select("s.b.c", F.col("s.b").alias("b"), again.alias("z")).write.parquet(f"{out}/rebuilt")
s.withColumn("s", F.col("s").withField("b.c", F.upper("s.b.c"))).select("s.*").write.parquet(f"{out}/changed")
spark.stop()
