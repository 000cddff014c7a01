"""Every kind of expression in one projection, and aggregates with their masking."""

from pyspark.sql import SparkSession
from tests.spark.samples import customers, orders, work

spark = SparkSession.builder.appName("expressions").getOrCreate()
o = spark.read.parquet(orders())
c = spark.read.parquet(customers())
o.createOrReplaceTempView("o")
c.createOrReplaceTempView("c")
out = f"{work()}/out"

spark.sql("""
    select case when status = 'paid' then amount else 0 end chosen, if(status = 'open', day, null) either,
      coalesce(day, status) first_there, nullif(status, 'x') without, greatest(order_id, customer_id) most,
      decode(status, 'paid', 'P', 'O') coded, status like 'p%' alike, amount between 1 and 2 inside,
      cast(amount as int) narrowed, order_id + customer_id added, status || day joined, md5(status) hidden,
      sha2(status, 256) hidden_too, struct(status, day).day taken, array(status, day)[0] element,
      map('k', status)['k'] looked_up, transform(array(status), e -> concat(e, day)) mapped, typeof(amount) kind,
      current_date() today, 1 one
    from o
""").write.parquet(f"{out}/projected")
spark.sql("""
    select status, count(*) rows, count(order_id) counted, sum(amount) summed, count(distinct day) days,
      sum(amount) filter (where day > 'a') filtered, max_by(day, amount) latest, collect_list(md5(status)) hidden
    from o group by status having max(amount) > 1
""").write.parquet(f"{out}/grouped")
spark.sql("""
    select row_number() over (partition by customer_id order by amount desc) place, lag(day) over (order by order_id) before,
      sum(amount) over (partition by status) / count(*) over (partition by status) share
    from o
""").write.parquet(f"{out}/windowed")
spark.stop()
