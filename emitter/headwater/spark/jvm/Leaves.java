package headwater.jvm;

import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.spark.Dependency;
import org.apache.spark.Partition;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCPartition;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.DataSourceRegister;

/** Describes the leaves of a plan (relations, tables, RDDs) as maps of plain values. */
public class Leaves {
  private static final int MOST_RDDS = 10000;
  private static final int MOST_PATHS = 10000;
  private static final int MOST_FILES = 20;
  private static final int MOST_PREDICATES = 100;
  private static final int MOST_OPTIONS = 1000;
  private static final String CLONE_SOURCE = "org.apache.spark.sql.delta.commands.Clone";

  static boolean plain(Object value) {
    return value instanceof Path || value instanceof URI || value instanceof JoinType;
  }

  /** A value as text; a URI as its unescaped path. */
  public static String text(Object value) {
    return value instanceof URI ? new Path((URI) value).toString() : value.toString();
  }

  static boolean known(Object value) {
    return value instanceof BaseRelation || value instanceof RDD || value instanceof Table
        || value instanceof CatalogPlugin || value instanceof Identifier || value instanceof DataSourceRegister
        || value.getClass().getName().startsWith(CLONE_SOURCE);
  }

  static Object describe(Object value) {
    if (value instanceof HadoopFsRelation) return files((HadoopFsRelation) value);
    if (value instanceof JDBCRelation) return jdbc((JDBCRelation) value);
    if (value instanceof RDD) return rdd((RDD) value);
    if (value.getClass().getName().startsWith(CLONE_SOURCE)) return cloned(value);
    if (value instanceof Table) {
      try {
        return table((Table) value);
      } catch (RuntimeException unfit) {
        return other(value); // sinks of the first streaming API implement Table, but none of its methods
      }
    }
    if (value instanceof CatalogPlugin) return made("catalog", value, "name", ((CatalogPlugin) value).name());
    if (value instanceof Identifier) return identifier((Identifier) value);
    if (value instanceof DataSourceRegister && !(value instanceof BaseRelation)) return made("source", value, "name", ((DataSourceRegister) value).shortName());
    return other(value);
  }

  /** A library's relation or table: its fields with plain values, by reflection (Kafka's topics, a connector's options). */
  private static Map other(Object value) {
    Map map = made("relation", value, "lineage", Reported.relation(value));
    fields(map, value, library(value.getClass()));
    return map;
  }

  /** Add an object's fields with plain values; in a field with an object of its own library, such as options, those of it. */
  private static void fields(Map map, Object value, String library) {
    for (Class owner = value.getClass(); owner != null && library(owner).equals(library(value.getClass())); owner = owner.getSuperclass()) {
      java.lang.reflect.Field[] fields = owner.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (java.lang.reflect.Modifier.isStatic(fields[i].getModifiers()) || map.containsKey(fields[i].getName())) continue;
        try {
          fields[i].setAccessible(true);
          Object held = present(fields[i].get(value));
          if (held instanceof Path) map.put(fields[i].getName(), held.toString());
          else if (held instanceof String) map.put(fields[i].getName(), held);
          else if (held instanceof scala.collection.Map || held instanceof Map) map.put(fields[i].getName(), library == null ? options(held) : held);
          else if (held != null && fields[i].getName().equals("strategy")) map.put("strategy", held.toString());
          else if (held != null && nested(library) && library(held.getClass()).equals(library)) {
            LinkedHashMap inner = new LinkedHashMap();
            // The options of a relation on an RDD, such as MongoDB's of the first API, are those of the RDD.
            fields(inner, held, held instanceof RDD && !(value instanceof RDD) ? library : null);
            map.put(fields[i].getName(), inner);
          }
        } catch (Exception sealed) {
          continue;
        }
      }
    }
  }

  private static boolean nested(String library) {
    return library != null && library.length() > 0 && !library.equals("org.apache.spark");
  }

  /** The first three parts of a class's package. */
  private static String library(Class type) {
    String[] parts = type.getName().split("[.]");
    return parts.length < 4 ? "" : parts[0] + "." + parts[1] + "." + parts[2];
  }

  /** The value of Scala's, Java's or Guava's option, or null; any other object as it is. */
  private static Object present(Object held) {
    if (held instanceof scala.Option) return ((scala.Option) held).isDefined() ? ((scala.Option) held).get() : null;
    if (held instanceof java.util.Optional) return ((java.util.Optional) held).orElse(null);
    return held != null && held.getClass().getName().endsWith(".base.Present") ? member(held, "orNull") : held;
  }

  /** The entries of a map whose values are texts. */
  private static Map options(Object held) {
    LinkedHashMap found = new LinkedHashMap();
    java.util.Iterator entries = held instanceof Map ? ((Map) held).entrySet().iterator() : null;
    scala.collection.Iterator pairs = held instanceof Map ? null : ((scala.collection.Map) held).iterator();
    while (found.size() < MOST_OPTIONS && (entries == null ? pairs.hasNext() : entries.hasNext())) {
      scala.Tuple2 pair = entries == null ? (scala.Tuple2) pairs.next() : pair((Map.Entry) entries.next());
      if (pair._2() instanceof String) found.put(String.valueOf(pair._1()), pair._2());
    }
    return found;
  }

  private static scala.Tuple2 pair(Map.Entry entry) {
    return new scala.Tuple2(entry.getKey(), entry.getValue());
  }

  private static Map made(String kind, Object value, String key, Object held) {
    LinkedHashMap map = new LinkedHashMap();
    map.put("$", kind);
    map.put("class", value.getClass().getName());
    if (key != null) map.put(key, held);
    return map;
  }

  private static Map files(HadoopFsRelation relation) {
    Map map = made("files", relation, "paths", places(relation));
    map.put("format", relation.fileFormat() instanceof DataSourceRegister ? ((DataSourceRegister) relation.fileFormat()).shortName() : relation.fileFormat().getClass().getName());
    map.put("partitions", relation.partitionSchema().fieldNames());
    map.put("version", version(relation.location()));
    return map;
  }

  /** The paths of a read: files and folders as they are; for many files their folders, as a pattern expands to files. */
  private static Object places(HadoopFsRelation relation) {
    scala.collection.Iterable roots = (scala.collection.Iterable) (Object) relation.location().rootPaths();
    if (roots.size() <= MOST_FILES || !(relation.location() instanceof PartitioningAwareFileIndex)) return roots;
    HashSet files = new HashSet();
    scala.collection.Iterator all = ((scala.collection.Iterable) (Object) ((PartitioningAwareFileIndex) relation.location()).allFiles()).iterator();
    while (all.hasNext()) files.add(((FileStatus) all.next()).getPath());
    LinkedHashSet found = new LinkedHashSet();
    scala.collection.Iterator paths = roots.iterator();
    while (paths.hasNext() && found.size() < MOST_PATHS) {
      Path path = (Path) paths.next();
      found.add(files.contains(path) ? path.getParent().toString() : path.toString());
    }
    return found.toArray();
  }

  /** The version of the Delta table that is read, or null. */
  private static Object version(Object location) {
    if (!location.getClass().getName().startsWith("org.apache.spark.sql.delta.")) return null;
    try {
      Object snapshot = location.getClass().getMethod("getSnapshot", new Class[0]).invoke(location, new Object[0]);
      return snapshot.getClass().getMethod("version", new Class[0]).invoke(snapshot, new Object[0]);
    } catch (Exception absent) {
      return null;
    }
  }

  private static Map jdbc(JDBCRelation relation) {
    JDBCOptions options = relation.jdbcOptions();
    Map map = made("jdbc", relation, "url", options.url());
    map.put("table", options.tableOrQuery());
    // Predicates of the program choose rows; those of a partition column cover all rows together.
    if (!options.partitionColumn().isDefined()) map.put("predicates", predicates(relation.parts()));
    return map;
  }

  private static List predicates(Partition[] parts) {
    ArrayList found = new ArrayList();
    for (int i = 0; i < parts.length && i < MOST_PREDICATES; i++) {
      String clause = parts[i] instanceof JDBCPartition ? ((JDBCPartition) parts[i]).whereClause() : null;
      if (clause != null) found.add(clause);
    }
    return found;
  }

  /** The table that Delta's CLONE copies. */
  private static Map cloned(Object value) {
    Map map = made("cloneSource", value, "path", member(value, "dataPath"));
    map.put("schema", member(value, "schema"));
    map.put("format", member(value, "format"));
    return map;
  }

  private static Object member(Object value, String name) {
    try {
      Method method = value.getClass().getMethod(name, new Class[0]);
      method.setAccessible(true);
      return method.invoke(value, new Object[0]);
    } catch (Exception absent) {
      return null;
    }
  }

  private static Map identifier(Identifier value) {
    Map map = made("identifier", value, "name", value.name());
    map.put("namespace", value.namespace());
    return map;
  }

  private static Map table(Table value) {
    Map map = made("v2", value, "name", value.name());
    map.put("lineage", Reported.relation(value));
    map.put("properties", value.properties());
    map.put("schema", schema(value));
    if (value.getClass().getName().startsWith("org.apache.iceberg.")) map.put("snapshot", snapshot(value));
    if (value.getClass().getName().startsWith("org.apache.spark.sql.delta.")) map.put("timeTravel", member(value, "timeTravelOpt"));
    if (value instanceof FileTable) {
      map.put("paths", ((FileTable) value).fileIndex().rootPaths());
      map.put("format", ((FileTable) value).formatName());
    }
    return map;
  }

  /** The snapshot of an Iceberg table that is read, the current one or an earlier; null if it is not available. */
  private static Object snapshot(Table value) {
    try {
      return value.getClass().getMethod("snapshotId", new Class[0]).invoke(value, new Object[0]);
    } catch (Exception absent) {
      return null;
    }
  }

  /** A table's columns; null if they are not available. */
  private static Object schema(Table value) {
    try {
      return value.schema();
    } catch (RuntimeException unavailable) {
      return null;
    }
  }

  /** The files that an RDD and its dependencies read, and the columns of file scans. */
  static Map rdd(RDD root) {
    LinkedHashSet paths = new LinkedHashSet();
    LinkedHashSet files = new LinkedHashSet();
    LinkedHashSet columns = new LinkedHashSet();
    List chain = chain(root);
    LinkedHashSet unknown = new LinkedHashSet();
    for (int i = 0; i < chain.size(); i++) {
      RDD next = (RDD) chain.get(i);
      readBy(next, paths, files, columns);
      boolean first = !((scala.collection.Iterable) (Object) next.dependencies()).iterator().hasNext();
      if (first && !next.getClass().getName().startsWith("org.apache.spark.")) unknown.add(next.getClass().getName());
    }
    Map map = described("rdd", root, paths, files, columns);
    map.put("unknown", unknown.toArray());
    return map;
  }

  /** The files that an RDD reads itself, without its dependencies. */
  static Map single(RDD rdd) {
    LinkedHashSet paths = new LinkedHashSet();
    LinkedHashSet files = new LinkedHashSet();
    LinkedHashSet columns = new LinkedHashSet();
    readBy(rdd, paths, files, columns);
    Map map = described("rdd", rdd, paths, files, columns);
    map.put("id", Integer.valueOf(rdd.id()));
    map.put("name", rdd.name());
    return map;
  }

  private static Map described(String kind, RDD rdd, LinkedHashSet paths, LinkedHashSet files, LinkedHashSet columns) {
    Map map = made(kind, rdd, "paths", paths.toArray());
    map.put("files", files.toArray());
    map.put("columns", columns.toArray());
    return map;
  }

  private static void readBy(RDD rdd, LinkedHashSet paths, LinkedHashSet files, LinkedHashSet columns) {
    if (rdd instanceof FileScanRDD) {
      scanned((FileScanRDD) rdd, files, columns);
    } else if (rdd instanceof HadoopRDD) {
      inputPaths(((HadoopRDD) rdd).getJobConf(), paths);
    } else if (rdd instanceof NewHadoopRDD) {
      String folders = ((NewHadoopRDD) rdd).getConf().get("mapreduce.input.fileinputformat.inputdir");
      if (folders != null) paths.addAll(Arrays.asList(folders.split("(?<!\\\\),")));
    }
  }

  /** The kinds of an RDD and of its dependencies, depth first, without repetitions; about {@code longest} characters at most. */
  public static String kinds(RDD rdd, int longest, int depth) {
    String type = rdd.getClass().getName();
    String own = type.substring(type.lastIndexOf('.') + 1).replaceAll("RDD\\d*$", "");
    StringBuilder below = new StringBuilder();
    scala.collection.Iterator dependencies = ((scala.collection.Iterable) (Object) rdd.dependencies()).iterator();
    while (depth > 0 && dependencies.hasNext() && below.length() < longest) {
      if (below.length() > 0) below.append(' ');
      below.append(kinds(((Dependency) dependencies.next()).rdd(), longest, depth - 1));
    }
    if (below.length() == 0) return own;
    return below.toString().startsWith(own) ? below.toString() : own + " " + below;
  }

  /** An RDD and all its dependencies, each once. */
  public static List chain(RDD root) {
    ArrayList found = new ArrayList();
    HashSet seen = new HashSet();
    found.add(root);
    seen.add(Integer.valueOf(root.id()));
    for (int i = 0; i < found.size() && i < MOST_RDDS; i++) {
      scala.collection.Iterator dependencies = ((scala.collection.Iterable) (Object) ((RDD) found.get(i)).dependencies()).iterator();
      while (dependencies.hasNext()) {
        RDD next = ((Dependency) dependencies.next()).rdd();
        if (seen.add(Integer.valueOf(next.id()))) found.add(next);
      }
    }
    return found;
  }

  private static void scanned(FileScanRDD rdd, LinkedHashSet files, LinkedHashSet columns) {
    scala.collection.Iterator partitions = ((scala.collection.Iterable) (Object) rdd.filePartitions()).iterator();
    while (partitions.hasNext() && files.size() < MOST_PATHS) {
      PartitionedFile[] parts = ((FilePartition) partitions.next()).files();
      for (int i = 0; i < parts.length && files.size() < MOST_PATHS; i++) files.add(parts[i].toPath().toString());
    }
    columns.addAll(Arrays.asList(rdd.readSchema().fieldNames()));
  }

  private static void inputPaths(JobConf conf, LinkedHashSet paths) {
    Path[] found = FileInputFormat.getInputPaths(conf);
    for (int i = 0; i < found.length && i < MOST_PATHS; i++) paths.add(found[i].toString());
  }

  static boolean hasName(Object value) {
    String type = value.getClass().getName();
    return type.endsWith("PythonUDF") || type.endsWith("PythonUDAF") || type.endsWith("ScalaUDF") || type.endsWith("WithField") || type.endsWith("UnresolvedFunction") || type.endsWith("DeltaMergeAction") || type.endsWith("CommonExpressionDef") || type.endsWith("CommonExpressionRef");
  }

  static String name(Object value) {
    try {
      if (value.getClass().getName().endsWith("UnresolvedFunction")) {
        Method parts = value.getClass().getMethod("nameParts", new Class[0]);
        return String.valueOf(((scala.collection.Seq) parts.invoke(value, new Object[0])).last());
      }
      if (value.getClass().getName().indexOf("CommonExpression") >= 0)
        return "common:" + value.getClass().getMethod("id", new Class[0]).invoke(value, new Object[0]);
      if (value.getClass().getName().endsWith("DeltaMergeAction")) {
        Method parts = value.getClass().getMethod("targetColNameParts", new Class[0]);
        return ((scala.collection.Seq) parts.invoke(value, new Object[0])).mkString(".");
      }
      Method method = value.getClass().getMethod("name", new Class[0]);
      return String.valueOf(method.invoke(value, new Object[0]));
    } catch (ReflectiveOperationException absent) {
      return null;
    }
  }
}
