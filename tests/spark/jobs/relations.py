"""LATERAL, correlated sub-queries, GROUPING SETS, UNPIVOT, windows, samples, INTERSECT and EXCEPT ALL, frames' verbs."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("relations").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
c.createOrReplaceTempView("c")
out = f"{work()}/out"

QUERIES = {
    "lateral": "select o.order_id, l.n from o, lateral (select c.name n from c where c.customer_id = o.customer_id) l",
    "lateral_sum": """select o.order_id, l.t from o left join lateral
        (select sum(p.amount) t from o p where p.customer_id = o.customer_id) l on true""",
    "exists": "select order_id, exists(select 1 from c where c.customer_id = o.customer_id) e from o",
    "not_exists": """select order_id from o
        where not exists (select 1 from c where c.customer_id = o.customer_id and c.country = 'pl')""",
    "not_in": "select order_id from o where customer_id not in (select customer_id from c)",
    "correlated": "select name, (select count(*) from o where o.customer_id = c.customer_id) n from c order by n limit 3",
    "grouping_sets": "select status, day, grouping(status) g, sum(amount) s from o group by grouping sets ((status), (day))",
    "rollup": "select status, day, grouping_id() g, count(*) n from o group by rollup (status, day)",
    "unpivot": "select * from o unpivot (v for k in (status, day))",
    "pivot": """select * from (select customer_id, status, amount from o)
        pivot (sum(amount) s, max(amount) m for status in ('paid' p, 'open' q))""",
    "latest": """select * from
        (select *, row_number() over (partition by customer_id order by day desc) rn from o) where rn = 1""",
    "windows": """select order_id, sum(amount) over w s, ntile(2) over w n, first_value(status) over w f from o
        window w as (partition by customer_id order by day)""",
    "sample": "select order_id from o tablesample (50 percent)",
    "intersect_all": "select customer_id from o intersect all select customer_id from c",
    "except_all": "select customer_id from o except all select customer_id from c",
    "natural": "select * from o natural join c",
    "full": "select a.order_id, b.name from o a full join c b on a.customer_id = b.customer_id and b.country = 'pl'",
    "comma": "select o.order_id, c.name from o, c where o.customer_id = c.customer_id and o.amount > 3",
    "counted_if": "select status, count_if(amount > 1) n, percentile_approx(amount, 0.5) p, mode(day) m from o group by all",
}
for name, query in QUERIES.items():
    spark.sql(query).write.parquet(f"{out}/{name}")
o.groupBy(F.window(F.to_timestamp("day"), "1 day")).agg(F.sum("amount").alias("s")).write.parquet(f"{out}/days")
o.unionByName(o.select("order_id", "amount"), allowMissingColumns=True).write.parquet(f"{out}/by_name")
o.na.fill({"status": "x"}).na.drop(subset=["amount"]).replace("paid", "PAID", ["status"]).write.parquet(f"{out}/filled")
o.describe("amount").write.parquet(f"{out}/described")
o.dropDuplicates(["customer_id", "status"]).select("customer_id", "amount").write.parquet(f"{out}/deduplicated")
o.orderBy("amount").limit(3).select("order_id").write.parquet(f"{out}/top")
spark.stop()
