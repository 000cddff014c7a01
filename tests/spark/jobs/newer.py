"""What came with Spark 4: variables, EXECUTE IMMEDIATE, functions in SQL, pipes, VARIANT, collations, defaults, scripts."""

# since: 4.2
from pyspark.sql import SparkSession
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("newer").getOrCreate()
spark.read.parquet(orders()).createOrReplaceTempView("o")
spark.read.parquet(customers()).createOrReplaceTempView("c")
out = f"{work()}/out"

COMMANDS = (
    "declare variable most int default 12",
    "set var most = (select max(order_id) from o)",
    "execute immediate 'create table ei using parquet as select order_id, status from o where amount > ?' using 3",
    "execute immediate 'insert into ei select customer_id, name from c where country = :p' using 'pl' as p",
    "create temporary function plus1(x double) returns double return x + 1",
    """create temporary function by_status(s string) returns table (oid bigint, amt double)
        return select order_id, amount from o where status = s""",
    "create temporary function total_of(id bigint) returns double return select sum(amount) from o where customer_id = id",
    "create table filled (a bigint, b string default 'x') using parquet",
    "insert into filled (a) select order_id from o",
    "insert into filled by name select name as b, customer_id as a from c",
    "comment on table filled is 'hello'",
    """begin
        declare t int default 1;
        create table scripted (a bigint) using parquet;
        while t < 3 do
            insert into scripted select order_id + t from o;
            set t = t + 1;
        end while;
    end""",
)
QUERIES = {
    "variable": "select order_id, amount * most as x from o where amount > most",
    "function": "select plus1(amount) p, order_id from o",
    "table_function": "select t.oid, t.amt * 2 a2 from by_status('paid') t",
    "query_function": "select name, total_of(customer_id) t from c",
    "pipe": """from o |> where amount > 3 |> extend amount * 2 as twice
        |> aggregate sum(twice) as s, count(*) as n group by status |> order by s |> limit 2""",
    "piped_join": """from o |> as t |> join c on t.customer_id = c.customer_id |> select t.order_id, c.name
        |> set name = upper(name) |> drop order_id""",
    "variant": """with x as (select parse_json(to_json(struct(order_id, status))) v from o)
        select variant_get(v, '$.status', 'string') s, cast(v:order_id as int) k from x""",
    "collation": "select status collate utf8_lcase s, count(*) n from o group by status collate utf8_lcase",
    "listed": "select customer_id, listagg(status, ',') within group (order by day) l from o group by customer_id",
    "all_but": "select o.*, c.* except (customer_id) from o join c using (customer_id)",
    "sideways": "select amount * 2 as twice, twice + 1 as more from o",
}
for command in COMMANDS:
    spark.sql(command)
for name, query in QUERIES.items():
    spark.sql(query).write.parquet(f"{out}/{name}")
spark.stop()
