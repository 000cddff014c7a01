package headwater.jvm;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.Stage;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.*;
import org.apache.spark.sql.execution.streaming.runtime.*;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.util.AccumulatorV2;

/** The results of a run, from Spark's own counters: no job is run, no file is opened. */
public class Facts {
  private static final int MOST_NODES = 20000;
  private static final int LONGEST_TRACE = 20000;
  private static final int LONGEST_NAME = 200;
  private static final int DEEPEST_NAME = 50;

  /** The metrics of the executed plan's nodes that wrote or scanned, outermost first. */
  public static List metrics(QueryExecution execution) {
    ArrayList found = new ArrayList();
    collect(execution.executedPlan(), found, new int[] {MOST_NODES});
    return found;
  }

  private static void collect(SparkPlan plan, List found, int[] budget) {
    if (--budget[0] < 0) return;
    if (plan instanceof AdaptiveSparkPlanExec) {
      collect(((AdaptiveSparkPlanExec) plan).executedPlan(), found, budget);
      return;
    }
    if (plan instanceof QueryStageExec) {
      collect(((QueryStageExec) plan).plan(), found, budget);
      return;
    }
    boolean leaf = !((scala.collection.Iterable) (Object) plan.children()).iterator().hasNext();
    scala.collection.Map metrics = plan.metrics();
    if (metrics.contains("numFiles") || metrics.contains("numOutputBytes") || (leaf && metrics.contains("numOutputRows"))) {
      LinkedHashMap node = new LinkedHashMap();
      node.put("node", plan.nodeName());
      node.put("leaf", Boolean.valueOf(leaf));
      node.put("output", ids(plan));
      scala.collection.Iterator entries = metrics.iterator();
      while (entries.hasNext()) {
        scala.Tuple2 entry = (scala.Tuple2) entries.next();
        node.put(entry._1(), ((AccumulatorV2) entry._2()).value());
      }
      found.add(node);
    }
    scala.collection.Iterator children = ((scala.collection.Iterable) (Object) plan.children()).iterator();
    while (children.hasNext()) collect((SparkPlan) children.next(), found, budget);
  }

  private static List ids(SparkPlan plan) {
    ArrayList found = new ArrayList();
    scala.collection.Iterator output = ((scala.collection.Iterable) (Object) plan.output()).iterator();
    while (output.hasNext()) {
      NamedExpression column = (NamedExpression) output.next();
      found.add(Long.valueOf(column.exprId().id()));
    }
    return found;
  }

  /** A streaming query's execution: {analysed plan, sink, options, table}; null for a query of another kind. */
  public static Object[] stream(StreamingQuery query) {
    if (!(query instanceof StreamingQueryWrapper)) return null;
    StreamExecution execution = ((StreamingQueryWrapper) query).streamingQuery();
    return new Object[] {execution.analyzedPlan(), execution.sink(), held(execution, "extraOptions"), table(execution)};
  }

  /** The table that a query writes into, in the session catalog or as {catalog, identifier}; nothing for a sink without one. */
  private static Map table(Object execution) {
    LinkedHashMap found = new LinkedHashMap();
    Object plan = held(execution, "plan");
    if (!(plan instanceof WriteToStream)) return found;
    WriteToStream write = (WriteToStream) plan;
    if (write.catalogTable().isDefined()) found.put("table", write.catalogTable().get());
    else if (write.catalogAndIdent().isDefined()) {
      scala.Tuple2 named = (scala.Tuple2) write.catalogAndIdent().get();
      found.put("catalog", named._1());
      found.put("identifier", named._2());
    }
    return found;
  }

  /** The value of an execution's field by the end of its name, which Scala may extend; null without such a field. */
  private static Object held(Object execution, String name) {
    for (Class owner = execution.getClass(); owner != null; owner = owner.getSuperclass()) {
      Field[] fields = owner.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (!fields[i].getName().endsWith(name)) continue;
        try {
          fields[i].setAccessible(true);
          return fields[i].get(execution);
        } catch (Exception sealed) {
          continue;
        }
      }
    }
    return null;
  }

  /** An exception's stack trace, truncated to LONGEST_TRACE characters. */
  public static String stack(Throwable failure) {
    StringWriter text = new StringWriter();
    failure.printStackTrace(new PrintWriter(text, true));
    return text.getBuffer().length() <= LONGEST_TRACE ? text.toString() : text.toString().substring(0, LONGEST_TRACE);
  }

  /** A finished stage's task metrics: rows and bytes read and written. */
  public static Map stage(StageInfo info) {
    LinkedHashMap map = new LinkedHashMap();
    map.put("stage", Integer.valueOf(info.stageId()));
    TaskMetrics metrics = info.taskMetrics();
    if (metrics != null) {
      map.put("rowsRead", Long.valueOf(metrics.inputMetrics().recordsRead()));
      map.put("bytesRead", Long.valueOf(metrics.inputMetrics().bytesRead()));
      map.put("rowsWritten", Long.valueOf(metrics.outputMetrics().recordsWritten()));
      map.put("bytesWritten", Long.valueOf(metrics.outputMetrics().bytesWritten()));
      map.put("tasks", Integer.valueOf(info.numTasks()));
    }
    return map;
  }

  /** A job: its stages, its SQL execution, and of an RDD action its RDDs, its output folder and the names of its RDDs. */
  public static Map job(SparkListenerJobStart event, ActiveJob job) {
    LinkedHashMap map = new LinkedHashMap();
    map.put("job", Integer.valueOf(event.jobId()));
    ArrayList stages = new ArrayList();
    String site = "";
    String call = null;
    scala.collection.Iterator infos = ((scala.collection.Iterable) (Object) event.stageInfos()).iterator();
    while (infos.hasNext()) {
      StageInfo info = (StageInfo) infos.next();
      stages.add(Integer.valueOf(info.stageId()));
      site = info.details();
      call = info.name();
    }
    map.put("stages", stages);
    map.put("site", site);
    map.put("group", property(event, "spark.jobGroup.id"));
    map.put("description", property(event, "spark.job.description"));
    map.put("tags", property(event, "spark.job.tags"));
    map.put("call", call);
    map.put("execution", property(event, "spark.sql.execution.id"));
    if (job == null) return map;
    Stage last = job.finalStage();
    ArrayList rdds = new ArrayList();
    List chain = Leaves.chain(last.rdd());
    for (int i = 0; i < chain.size(); i++) rdds.add(Leaves.single((RDD) chain.get(i)));
    map.put("rdds", rdds);
    map.put("kinds", Leaves.kinds(last.rdd(), LONGEST_NAME, DEEPEST_NAME));
    map.put("stage", Integer.valueOf(last.id()));
    map.put("writes", last instanceof ResultStage ? output(((ResultStage) last).func(), 8, new int[] {500}) : null);
    return map;
  }

  /** The job tags of the start of a streaming query, which Spark 3.5 does not have. */
  public static String tags(Object event) throws Exception {
    try {
      Object tags = event.getClass().getMethod("jobTags", new Class[0]).invoke(event, new Object[0]);
      return ((scala.collection.Iterable) tags).mkString(",");
    } catch (NoSuchMethodException absent) {
      return "";
    }
  }

  private static String property(SparkListenerJobStart event, String name) {
    return event.properties() == null ? null : event.properties().getProperty(name);
  }

  /** The output folder of the Hadoop configuration in the closure of a job's function, or null. */
  private static String output(Object held, int depth, int[] budget) {
    if (held == null || depth == 0 || --budget[0] < 0) return null;
    if (held instanceof JobConf) return ((JobConf) held).get("mapreduce.output.fileoutputformat.outputdir");
    if (held instanceof Configuration) return ((Configuration) held).get("mapreduce.output.fileoutputformat.outputdir");
    String type = held.getClass().getName();
    if (!type.startsWith("org.apache.spark.")) return null;
    if (held instanceof RDD || held instanceof org.apache.spark.SparkContext) return null;
    for (Class owner = held.getClass(); owner != null && owner.getName().startsWith("org.apache.spark."); owner = owner.getSuperclass()) {
      Field[] fields = owner.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getType().isPrimitive()) continue;
        try {
          fields[i].setAccessible(true);
          String found = output(fields[i].get(held), depth - 1, budget);
          if (found != null) return found;
        } catch (Exception sealed) {
          continue;
        }
      }
    }
    return null;
  }
}
