package headwater.jvm;

import java.util.Properties;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.DropTableEvent;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** Adds the listener events that lineage needs to a bounded queue, by reference, and does nothing else on the bus. */
public class Tap extends SparkListener {
  private final LinkedBlockingQueue queue;
  private final SparkContext context;
  private final AtomicLong dropped = new AtomicLong();
  private final boolean all;

  /** {@code all} is whether the jobs of SQL executions are wanted with their RDDs, too. */
  public Tap(SparkContext context, int capacity, boolean all) {
    this.context = context;
    this.all = all;
    this.queue = new LinkedBlockingQueue(capacity);
  }

  /** The number of events that were dropped because the queue was full. */
  public long dropped() {
    return dropped.get();
  }

  private void add(String kind, Object event, Object extra) {
    Object[] item = new Object[] {kind, Long.valueOf(System.currentTimeMillis()), event, extra};
    if (!queue.offer(item)) dropped.incrementAndGet();
  }

  /** The next event as {kind, clock in ms, event, extra}, or null if there is none in time. */
  public Object[] poll(long millis) throws InterruptedException {
    return (Object[]) queue.poll(millis, TimeUnit.MILLISECONDS);
  }

  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionStart) {
      // An execution leaves the map of running executions at its end, so its plan is referenced here.
      add("sqlStart", event, SQLExecution.getQueryExecution(((SparkListenerSQLExecutionStart) event).executionId()));
    } else if (event instanceof SparkListenerSQLExecutionEnd) {
      add("sqlEnd", event, ((SparkListenerSQLExecutionEnd) event).qe());
    } else if (event instanceof StreamingQueryListener.QueryStartedEvent) {
      // A query that ends leaves its manager, so it is referenced here.
      scala.Option session = SparkSession.getDefaultSession();
      Object query = session.isDefined() ? ((SparkSession) session.get()).streams().get(((StreamingQueryListener.QueryStartedEvent) event).id()) : null;
      add("streamStart", event, query);
    } else if (event instanceof StreamingQueryListener.QueryProgressEvent) {
      add("streamProgress", event, null);
    } else if (event instanceof StreamingQueryListener.QueryTerminatedEvent) {
      add("streamEnd", event, null);
    } else if (event instanceof DropTableEvent) {
      add("tableDropped", event, null);
    }
  }

  public void onJobStart(SparkListenerJobStart event) {
    Properties properties = event.properties();
    boolean sql = properties != null && properties.getProperty("spark.sql.execution.id") != null;
    Object job = null;
    if (all || !sql) {
      scala.Option found = context.dagScheduler().jobIdToActiveJob().get(Integer.valueOf(event.jobId()));
      if (found.isDefined()) job = (ActiveJob) found.get();
    }
    add("jobStart", event, job);
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    Object failure = event.jobResult() instanceof JobFailed ? ((JobFailed) event.jobResult()).exception() : null;
    add("jobEnd", event, failure);
  }

  public void onStageCompleted(SparkListenerStageCompleted event) {
    add("stageEnd", event, null);
  }

  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    add("applicationEnd", event, null);
  }
}
