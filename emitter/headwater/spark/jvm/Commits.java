package headwater.jvm;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.SparkContext;

/**
 * Which version of a table a write made, for the formats that keep versions; Iceberg's classes are met by name alone, so any
 * exception may come of a release that has another shape. The program may have stopped Spark by now: nothing is asked of it.
 */
public class Commits {
  private static final int MOST_LATER = 100;
  private static final int MOST_FILES = 20000;
  private static final int MOST_LINES = 10;

  /** The newest snapshot of an Iceberg table that was made in a span of time as {id, its summary}, else null. */
  public static Object[] iceberg(Object table, long first, long last) throws Exception {
    Object held = told(table, "table");
    Object snapshot = told(held, "currentSnapshot");
    for (int later = 0; snapshot != null && later < MOST_LATER; later++) {
      long made = ((Long) told(snapshot, "timestampMillis")).longValue();
      if (made < first) return null;
      if (made <= last) return new Object[] {told(snapshot, "snapshotId").toString(), told(snapshot, "summary")};
      Object parent = told(snapshot, "parentId");
      if (parent == null) return null;
      Method before = held.getClass().getMethod("snapshot", new Class[] {Long.TYPE});
      snapshot = before.invoke(held, new Object[] {parent});
    }
    return null;
  }

  /**
   * The newest commit of the Delta table at a location that was made in a span of time as {version, its commitInfo as JSON},
   * else null; the log's file names tell.
   */
  public static Object[] delta(SparkContext context, String location, long first, long last) throws Exception {
    Path folder = new Path(location, "_delta_log");
    FileSystem system = folder.getFileSystem(context.hadoopConfiguration());
    RemoteIterator files = system.listStatusIterator(folder);
    String newest = "";
    for (int seen = 0; files.hasNext(); seen++) {
      if (seen == MOST_FILES) return null;
      FileStatus file = (FileStatus) files.next();
      String name = file.getPath().getName();
      long made = file.getModificationTime();
      // A store that counts whole seconds has rounded the time down.
      long earliest = made % 1000 == 0 ? first / 1000 * 1000 : first;
      boolean fits = made >= earliest && made <= last && name.matches("[0-9]{20}[.]json");
      if (fits && name.compareTo(newest) > 0) newest = name;
    }
    if (newest.isEmpty()) return null;
    return new Object[] {Long.toString(Long.parseLong(newest.substring(0, 20))), info(system, new Path(folder, newest))};
  }

  /** The line of a commit that tells about the commit itself, one of the first; null where it is not among them. */
  private static String info(FileSystem system, Path commit) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(system.open(commit), "UTF-8"));
    try {
      for (int seen = 0; seen < MOST_LINES; seen++) {
        String line = lines.readLine();
        if (line == null || line.startsWith("{\"commitInfo\"")) return line;
      }
      return null;
    } finally {
      lines.close();
    }
  }

  private static Object told(Object holder, String name) throws Exception {
    Method method = holder.getClass().getMethod(name, new Class[0]);
    method.setAccessible(true); // public methods of classes that are not
    return method.invoke(holder, new Object[0]);
  }
}
