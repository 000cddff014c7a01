package com.mongodb.spark.sql;

import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The relation of MongoDB's connector of the first API (3.x), whose RDD has its settings; it reads nothing. */
public class DefaultSource implements RelationProvider {
  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map parameters) {
    return new MongoRelation(new MongoRDD(context.sparkContext(), new ReadConfig(parameters)), context);
  }
}

public class ReadConfig {
  private final String databaseName;
  private final String collectionName;
  private final scala.Option connectionString;

  public ReadConfig(scala.collection.immutable.Map parameters) {
    this.databaseName = (String) parameters.apply("database");
    this.collectionName = (String) parameters.apply("collection");
    this.connectionString = parameters.get("uri");
  }
}

public class MongoRDD extends RDD {
  private final transient ReadConfig readConfig;

  public MongoRDD(SparkContext context, ReadConfig readConfig) {
    super(context, scala.collection.immutable.List$.MODULE$.empty(), scala.reflect.ClassTag$.MODULE$.apply(Object.class));
    this.readConfig = readConfig;
  }

  public scala.collection.Iterator compute(Partition split, TaskContext context) {
    return scala.collection.Iterator$.MODULE$.empty();
  }

  public Partition[] getPartitions() {
    return new Partition[0];
  }
}

public class MongoRelation extends BaseRelation implements TableScan {
  private final MongoRDD mongoRDD;
  private final transient SQLContext context;

  public MongoRelation(MongoRDD mongoRDD, SQLContext context) {
    this.mongoRDD = mongoRDD;
    this.context = context;
  }

  public SQLContext sqlContext() {
    return context;
  }

  public StructType schema() {
    return new StructType().add("order_id", DataTypes.LongType).add("amount", DataTypes.DoubleType);
  }

  public RDD buildScan() {
    return mongoRDD;
  }
}
