package com.acme.openlineage.v1;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The official integration's interfaces, as a connector contains them under a package of its own. */
public interface LineageRelation {
  DatasetIdentifier getLineageDatasetIdentifier(String event, OpenLineage openLineage);
}

public interface LineageRelationProvider {
  DatasetIdentifier getLineageDatasetIdentifier(String event, OpenLineage openLineage, Object context, Object parameters);
}

public interface InputLineageNode {
  List getInputs(String event, OpenLineage openLineage);
}

public interface ColumnLevelLineageNode {
  List columnLevelLineageInputs(OpenLineageContext context);

  List columnLevelLineageOutputs(OpenLineageContext context);

  List columnLevelLineageDependencies(OpenLineageContext context);
}

public class OpenLineage {
  public final URI producer;

  public OpenLineage(URI producer) {
    this.producer = producer;
  }
}

public class OpenLineageContext {
  public final OpenLineage openLineage;

  public OpenLineageContext(OpenLineage openLineage) {
    this.openLineage = openLineage;
  }
}

public class DatasetIdentifier {
  private final String namespace;
  private final String name;

  public DatasetIdentifier(String namespace, String name) {
    this.namespace = namespace;
    this.name = name;
  }

  public String getNamespace() {
    return namespace;
  }

  public String getName() {
    return name;
  }
}

public class Note {
  public String getText() {
    return "from the connector";
  }
}

public class DatasetFacets {
  public Note getNote() {
    return new Note();
  }
}

public class DatasetFacetsBuilder {
  public DatasetFacets build() {
    return new DatasetFacets();
  }
}

public class InputDatasetWithIdentifier {
  public DatasetIdentifier getDatasetIdentifier() {
    return new DatasetIdentifier("acme://scan", "numbers");
  }

  public DatasetFacetsBuilder getDatasetFacetsBuilder() {
    return new DatasetFacetsBuilder();
  }
}

public class Field {
  private final String name;
  private final long id;

  public Field(String name, long id) {
    this.name = name;
    this.id = id;
  }

  public DatasetIdentifier datasetIdentifier() {
    return new DatasetIdentifier("acme://scan", "numbers");
  }

  public String field() {
    return name;
  }

  public Long exprId() {
    return Long.valueOf(id);
  }
}

public class Dependency {
  private final long id;
  private final List ids;

  public Dependency(long id, List ids) {
    this.id = id;
    this.ids = ids;
  }

  public Long outputExprId() {
    return Long.valueOf(id);
  }

  public List inputExprIds() {
    return ids;
  }
}

/** A plan node that reports its input and its columns. */
public class AcmeScan extends LocalRelation implements InputLineageNode, ColumnLevelLineageNode {
  /** Spark copies a node by a constructor with the parameters of its product. */
  public AcmeScan(scala.collection.immutable.Seq output, scala.collection.immutable.Seq data, boolean streams, scala.Option stream) {
    super(output, data, streams, stream);
  }

  public static AcmeScan make() {
    scala.collection.immutable.Seq columns = org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes(UnknownRelation.columns());
    return new AcmeScan(columns, (scala.collection.immutable.Seq) (Object) scala.collection.immutable.Nil$.MODULE$, false, scala.Option.empty());
  }

  private long id() {
    return ((NamedExpression) output().head()).exprId().id();
  }

  public List getInputs(String event, OpenLineage openLineage) {
    if (event == null || openLineage.producer == null) throw new IllegalArgumentException();
    return java.util.Arrays.asList(new Object[] {new InputDatasetWithIdentifier()});
  }

  public List columnLevelLineageInputs(OpenLineageContext context) {
    if (context.openLineage == null) throw new IllegalArgumentException();
    return java.util.Arrays.asList(new Object[] {new Field("source_id", -5L)});
  }

  public List columnLevelLineageOutputs(OpenLineageContext context) {
    return java.util.Arrays.asList(new Object[] {new Field("id", id())});
  }

  public List columnLevelLineageDependencies(OpenLineageContext context) {
    return java.util.Arrays.asList(new Object[] {new Dependency(id(), java.util.Arrays.asList(new Object[] {Long.valueOf(-5L)}))});
  }
}

/** A relation that headwater does not know. */
public class UnknownRelation extends BaseRelation implements TableScan {
  private final SQLContext context;
  private final scala.collection.immutable.Map parameters;

  public UnknownRelation(SQLContext context, scala.collection.immutable.Map parameters) {
    this.context = context;
    this.parameters = parameters;
  }

  static StructType columns() {
    return new StructType().add("id", DataTypes.LongType);
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
}

public class UnknownSource implements RelationProvider, CreatableRelationProvider {
  public BaseRelation createRelation(SQLContext context, scala.collection.immutable.Map parameters) {
    return new UnknownRelation(context, parameters);
  }

  public BaseRelation createRelation(SQLContext context, SaveMode mode, scala.collection.immutable.Map parameters, Dataset data) {
    return new UnknownRelation(context, parameters);
  }

  public boolean supportsDataType(org.apache.spark.sql.types.DataType type) {
    return true;
  }
}

/** A relation that reports its key. */
public class KnownRelation extends UnknownRelation implements LineageRelation {
  public KnownRelation(SQLContext context) {
    super(context, null);
  }

  public DatasetIdentifier getLineageDatasetIdentifier(String event, OpenLineage openLineage) {
    return new DatasetIdentifier("acme://relation", openLineage.producer == null ? "wrong" : "table");
  }
}

/** A provider that reports the key that its parameters mean. */
public class KnownSource extends UnknownSource implements LineageRelationProvider {
  public DatasetIdentifier getLineageDatasetIdentifier(String event, OpenLineage openLineage, Object context, Object parameters) {
    String place = String.valueOf(((scala.collection.immutable.Map) parameters).get("place").get());
    return context instanceof SQLContext ? new DatasetIdentifier("acme://provider", place) : null;
  }
}
