package PACKAGE;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.V1Scan;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.streaming.Offset;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Connectors that read nothing and write nowhere, with the names of the classes of real ones in the place of these. */
public class Options {
  private final scala.collection.immutable.Map parameters;

  public Options(scala.collection.immutable.Map parameters) {
    this.parameters = parameters;
  }
}

/** A relation of the first API; its options are those of a connector's. */
public class TheRelation extends BaseRelation implements TableScan, InsertableRelation {
  private final SQLContext context;
  private final Options params;

  public TheRelation(SQLContext context, scala.collection.immutable.Map parameters) {
    this.context = context;
    this.params = new Options(parameters);
  }

  static StructType columns() {
    return new StructType().add("order_id", DataTypes.LongType).add("amount", DataTypes.DoubleType);
  }

  public SQLContext sqlContext() {
    return context;
  }

  public StructType schema() {
    return columns();
  }

  public RDD buildScan() {
    return new JavaSparkContext(context.sparkContext()).emptyRDD().rdd();
  }

  public void insert(Dataset data, boolean overwrite) {
    data.count();
  }
}

public class NoSink implements Sink {
  public void addBatch(long batch, Dataset data) {
    data.collect();
  }
}

/** A source without rows. */
public class NoSource implements Source {
  public StructType schema() {
    return TheRelation.columns();
  }

  public scala.Option getOffset() {
    return scala.Option.empty();
  }

  public Dataset getBatch(scala.Option start, Offset end) {
    return null;
  }

  public void stop() {}
}

public class DefaultSource implements RelationProvider, CreatableRelationProvider, StreamSourceProvider, StreamSinkProvider {
  public scala.Tuple2 sourceSchema(SQLContext context, scala.Option schema, String provider, scala.collection.immutable.Map parameters) {
    return new scala.Tuple2(provider, TheRelation.columns());
  }

  public Source createSource(SQLContext context, String metadata, scala.Option schema, String provider, scala.collection.immutable.Map parameters) {
    return new NoSource();
  }

  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map parameters) {
    return new TheRelation(context, parameters);
  }

  public BaseRelation createRelation(SQLContext context, SaveMode mode, scala.collection.immutable.Map parameters, Dataset data) {
    return new TheRelation(context, parameters);
  }

  public boolean supportsDataType(org.apache.spark.sql.types.DataType type) {
    return true;
  }

  public Sink createSink(SQLContext context, scala.collection.immutable.Map parameters, scala.collection.immutable.Seq partitions, OutputMode mode) {
    return new NoSink();
  }
}

public class TheScan implements ScanBuilder, V1Scan {
  public Scan build() {
    return this;
  }

  public StructType readSchema() {
    return TheRelation.columns();
  }

  public BaseRelation toV1TableScan(SQLContext context) {
    return new TheRelation(context, null);
  }
}

public class TheWrite implements WriteBuilder, SupportsTruncate, V1Write {
  public WriteBuilder truncate() {
    return this;
  }

  public Write build() {
    return this;
  }

  public InsertableRelation toInsertableRelation() {
    return new TheRelation(null, null);
  }
}

/** A table of the second API. */
public class TheTable implements Table, SupportsRead, SupportsWrite {
  private final String name;
  private final StructType schema;
  private final Map properties;

  public TheTable(String name, StructType schema, Map properties) {
    this.name = name;
    this.schema = schema;
    this.properties = properties;
  }

  public String name() {
    return name;
  }

  public StructType schema() {
    return schema;
  }

  public Map properties() {
    return properties;
  }

  public Set capabilities() {
    Object[] all = {TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE, TableCapability.ACCEPT_ANY_SCHEMA};
    return new HashSet(Arrays.asList(all));
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new TheScan();
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new TheWrite();
  }
}

public class TheProvider implements TableProvider {
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return TheRelation.columns();
  }

  public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
    return new TheTable("table", schema, new HashMap());
  }

  public boolean supportsExternalMetadata() {
    return true;
  }
}

/** A catalog whose tables exist while the program runs; a table has the location below ``location``, if that is set. */
public class TheCatalog implements TableCatalog {
  private static final HashMap TABLES = new HashMap();
  private String name;
  private String location;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.location = options.get("location");
  }

  public String name() {
    return name;
  }

  public Identifier[] listTables(String[] namespace) {
    return new Identifier[0];
  }

  public boolean tableExists(Identifier identifier) {
    return TABLES.containsKey(name + identifier);
  }

  public Table loadTable(Identifier identifier) throws org.apache.spark.sql.catalyst.analysis.NoSuchTableException {
    Table found = (Table) TABLES.get(name + identifier);
    if (found == null) throw new org.apache.spark.sql.catalyst.analysis.NoSuchTableException(identifier);
    return found;
  }

  public Table createTable(Identifier identifier, Column[] columns, Transform[] partitions, Map properties) {
    HashMap held = new HashMap(properties);
    if (location != null) held.put("location", location + "/" + identifier.name());
    StructType schema = TheRelation.columns();
    TABLES.put(name + identifier, new TheTable(identifier.toString(), schema, held));
    return (Table) TABLES.get(name + identifier);
  }

  public Table alterTable(Identifier identifier, TableChange[] changes) {
    return (Table) TABLES.get(name + identifier);
  }

  public boolean dropTable(Identifier identifier) {
    return TABLES.remove(name + identifier) != null;
  }

  public void renameTable(Identifier from, Identifier to) {
    TABLES.put(name + to, TABLES.remove(name + from));
  }
}
