"""Connectors and catalogs that are known by the names of their classes, and others: the stubs of ``Tables.java``."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tests.spark.samples import orders, work

SETTINGS = {
    "spark.mongodb.read.connection.uri": "mongodb://me:hunter2@docs.example:27018/?tls=true",
    "spark.mongodb.write.connection.uri": "mongodb+srv://me:hunter2@cluster.example",
    "spark.cassandra.connection.host": "c1.example,c2.example",
    "spark.sql.catalog.wide": "com.datastax.spark.connector.datasource.CassandraCatalog",
    "spark.sql.catalog.unity": "io.unitycatalog.spark.UCSingleCatalog",
    "spark.sql.catalog.unity.uri": "https://unity.example:8443/api",
    "spark.sql.catalog.unity.token": "hunter2",
    "spark.sql.catalog.unity.location": "s3://lake/unity",
    "spark.sql.catalog.other": "com.acme.lake.LakeCatalog",
}
spark = SparkSession.builder.appName("named").getOrCreate()
for key, value in SETTINGS.items():
    spark.conf.set(key, value)
jvm: Any = spark._jvm
STUBS = (Path(__file__).parent / "Tables.java").read_text()
MONGO = (Path(__file__).parent / "Mongo.java").read_text()


def stub(package: str, **names: str) -> None:
    """Compile the stubs in a package, under the names of a connector's classes."""
    text = STUBS.replace("package PACKAGE;", f"package {package};")
    for stub_name, name in names.items():
        text = text.replace(stub_name, name)
    load(text)


def load(text: str) -> None:
    """Compile classes and let the session find them."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
    compiler.cook(text)
    jvm.Thread.currentThread().setContextClassLoader(compiler.getClassLoader())


stub("net.snowflake.spark.snowflake", TheRelation="SnowflakeRelation", Options="MergedParameters")
stub("com.google.cloud.spark.bigquery", TheRelation="DirectBigQueryRelation", Options="SparkBigQueryConfig")
stub("org.elasticsearch.spark.sql", TheRelation="ElasticsearchRelation")
stub("io.github.spark_redshift_community.spark.redshift", TheRelation="RedshiftRelation", Options="MergedParameters")
stub("org.apache.hudi", TheRelation="MergeOnReadSnapshotRelation")
stub("com.mongodb.spark.sql.connector", TheProvider="MongoTableProvider", TheTable="MongoTable")
load(MONGO)
stub("com.datastax.spark.connector.datasource", TheTable="CassandraTable", TheCatalog="CassandraCatalog")
stub("org.apache.spark.sql.cassandra", TheProvider="CassandraProvider", TheTable="CassandraTable")
stub("io.unitycatalog.spark", TheCatalog="UCSingleCatalog")
stub("com.acme.lake", TheCatalog="LakeCatalog")

o = spark.read.parquet(orders()).select("order_id", "amount")
out = f"{work()}/out"
snowflake = {"sfURL": "org-acc.snowflakecomputing.com", "sfUser": "me", "sfPassword": "hunter2", "sfDatabase": "SHOP"}
redshift = "jdbc:redshift://dw.abc123.eu-west-1.redshift.amazonaws.com:5439/shop?user=me&password=hunter2"
SYSTEMS: dict[str, tuple[str, dict[str, str]]] = {
    "snowflake": ("net.snowflake.spark.snowflake", {**snowflake, "sfSchema": "SALES", "dbtable": "ORDERS"}),
    "bigquery": ("com.google.cloud.spark.bigquery", {"table": "acme-prod:shop.orders", "credentials": "hunter2"}),
    "mongodb": ("com.mongodb.spark.sql.connector.MongoTableProvider", {"database": "shop", "collection": "orders"}),
    "cassandra": ("org.apache.spark.sql.cassandra.CassandraProvider", {"keyspace": "shop", "table": "orders"}),
    "elasticsearch": (
        "org.elasticsearch.spark.sql",
        {"es.nodes": "https://search.example", "es.resource": "orders", "es.net.http.auth.pass": "hunter2"},
    ),
    "redshift": (
        "io.github.spark_redshift_community.spark.redshift",
        {"url": redshift, "dbtable": "public.orders", "tempdir": "s3://tmp/x"},
    ),
    "hudi": ("org.apache.hudi", {"path": "s3a://lake/orders", "hoodie.table.name": "orders"}),
}
for name, (source, options) in SYSTEMS.items():
    spark.read.format(source).options(**options).load().write.parquet(f"{out}/{name}")
    o.selectExpr("order_id", "amount * 2 as amount").write.format(source).options(**options).mode("append").save()
first = {"uri": "mongodb://me:hunter2@old.example", "database": "shop", "collection": "orders"}
spark.read.format("com.mongodb.spark.sql").options(**first).load().write.parquet(f"{out}/mongo_relation")
query = {**snowflake, "query": "select o.order_id, p.amount from SALES.O o join P p on o.id = p.id where o.ok = 1"}
spark.read.format("net.snowflake.spark.snowflake").options(**query).load().write.parquet(f"{out}/query")
o.write.format("org.elasticsearch.spark.sql").option("es.nodes", "search.example").mode("overwrite").save("other")

arriving = spark.readStream.schema(o.schema).parquet(f"{work()}/in")
lake = (
    spark.readStream.format("com.acme.lake").option("topic", "orders").option("url", "lake://me:hunter2@lake.example/x")
)
anonymous = spark.readStream.format("com.acme.lake").load()
STREAMS: dict[str, tuple[DataFrame, str, dict[str, str]]] = {
    "indexed": (arriving, "org.elasticsearch.spark.sql", SYSTEMS["elasticsearch"][1]),
    "from_named": (lake.load(), "json", {"path": f"{out}/from_named"}),
    "from_unnamed": (anonymous, "json", {"path": f"{out}/from_unnamed"}),
    "to_named": (arriving, "com.acme.lake", {"topic": "copies"}),
    "to_unnamed": (arriving, "com.acme.lake", {}),
}
for name, (frame, sink, options) in STREAMS.items():
    writer = frame.writeStream.queryName(name).format(sink).options(**options)
    writer = writer.option("checkpointLocation", f"{work()}/checkpoints/{name}").trigger(availableNow=True)
    writer.start().awaitTermination()

for catalog, space in (("wide", "shop"), ("unity", "sales"), ("other", "db")):
    o.writeTo(f"{catalog}.{space}.orders").create()
    o.writeTo(f"{catalog}.{space}.orders").append()
    spark.table(f"{catalog}.{space}.orders").write.parquet(f"{out}/{catalog}")
spark.stop()
