package headwater.jvm;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.SparkContext;

/**
 * The versions that writes committed, for table formats with versions. Iceberg's classes are accessed by reflection, so a
 * release with other methods may raise any exception. Spark may be stopped already, so its services are not used.
 */
public class Commits {
  private static final int MOST_LATER = 100;
  private static final int MOST_PARTITIONS = 1000;
  private static final int MOST_FILES = 20000;
  private static final int MOST_LINES = 10;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The newest snapshot of an Iceberg table committed in a span of time as {id, its summary, whether it made the table}, or null. */
  public static Object[] iceberg(Object table, long first, long last) throws Exception {
    Object held = call(table, "table");
    Object snapshot = snapshot(held, first, last);
    if (snapshot == null) return null;
    return new Object[] {call(snapshot, "snapshotId").toString(), call(snapshot, "summary"), Boolean.valueOf(!existed(held, first))};
  }

  /** Whether a table has metadata from before a time; a table that is replaced has those of the one before it. */
  private static boolean existed(Object held, long first) throws Exception {
    Iterator entries = ((Iterable) call(call(call(held, "operations"), "current"), "previousFiles")).iterator();
    while (entries.hasNext()) {
      if (((Long) call(entries.next(), "timestampMillis")).longValue() < first) return true;
    }
    return false;
  }

  /** The values, by field of the partition spec, of the partitions that such a snapshot added files to; null without a snapshot. */
  public static List icebergPartitions(Object table, long first, long last) throws Exception {
    Object held = call(table, "table");
    Object snapshot = snapshot(held, first, last);
    if (snapshot == null) return null;
    LinkedHashSet found = new LinkedHashSet();
    Iterator files = ((Iterable) call(snapshot, "addedDataFiles", call(held, "io"))).iterator();
    for (int seen = 0; files.hasNext(); seen++) {
      if (seen == MOST_FILES || found.size() > MOST_PARTITIONS) return null;
      Object file = files.next();
      Object spec = ((Map) call(held, "specs")).get(call(file, "specId"));
      found.add(values((String) call(spec, "partitionToPath", call(file, "partition"))));
    }
    return new ArrayList(found);
  }

  /** The values in a partition's path, in which Iceberg escapes names and values. */
  private static Map values(String path) throws Exception {
    LinkedHashMap found = new LinkedHashMap();
    String[] parts = path.split("/");
    for (int i = 0; i < parts.length; i++) {
      int end = parts[i].indexOf('=');
      if (end > 0) found.put(URLDecoder.decode(parts[i].substring(0, end), "UTF-8"), URLDecoder.decode(parts[i].substring(end + 1), "UTF-8"));
    }
    return found;
  }

  private static Object snapshot(Object held, long first, long last) throws Exception {
    Object snapshot = call(held, "currentSnapshot");
    for (int later = 0; snapshot != null && later < MOST_LATER; later++) {
      long made = ((Long) call(snapshot, "timestampMillis")).longValue();
      if (made < first) return null;
      if (made <= last) return snapshot;
      Object parent = call(snapshot, "parentId");
      if (parent == null) return null;
      Method before = held.getClass().getMethod("snapshot", new Class[] {Long.TYPE});
      snapshot = before.invoke(held, new Object[] {parent});
    }
    return null;
  }

  /**
   * The newest commit in a span of time of the Delta table at a location as {version, its commitInfo as JSON,
   * whether it made the table}, or null; the version is the log's file name.
   */
  public static Object[] delta(SparkContext context, String location, long first, long last) throws Exception {
    Path commit = commit(context, location, first, last);
    if (commit == null) return null;
    long version = Long.parseLong(commit.getName().substring(0, 20));
    String info = info(commit.getFileSystem(context.hadoopConfiguration()), commit);
    return new Object[] {Long.toString(version), info, Boolean.valueOf(version == 0)};
  }

  /** The values of the partitions that such a commit added files to, by column; null without a commit or if too many. */
  public static List deltaPartitions(SparkContext context, String location, long first, long last) throws Exception {
    Path commit = commit(context, location, first, last);
    if (commit == null) return null;
    LinkedHashSet found = new LinkedHashSet();
    BufferedReader lines = read(commit.getFileSystem(context.hadoopConfiguration()), commit);
    try {
      int seen = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (++seen > MOST_FILES || found.size() > MOST_PARTITIONS) return null;
        if (line.startsWith("{\"add\"")) found.add(((Map) ((Map) JSON.readValue(line, Map.class)).get("add")).get("partitionValues"));
      }
    } finally {
      lines.close();
    }
    return new ArrayList(found);
  }

  private static BufferedReader read(FileSystem system, Path file) throws Exception {
    return new BufferedReader(new InputStreamReader(system.open(file), "UTF-8"));
  }

  private static Path commit(SparkContext context, String location, long first, long last) throws Exception {
    Path folder = new Path(location, "_delta_log");
    FileSystem system = folder.getFileSystem(context.hadoopConfiguration());
    RemoteIterator files = system.listStatusIterator(folder);
    String newest = "";
    for (int seen = 0; files.hasNext(); seen++) {
      if (seen == MOST_FILES) return null;
      FileStatus file = (FileStatus) files.next();
      String name = file.getPath().getName();
      long made = file.getModificationTime();
      boolean fits = within(made, first, last) && name.matches("[0-9]{20}[.]json");
      if (fits && name.compareTo(newest) > 0) newest = name;
    }
    return newest.isEmpty() ? null : new Path(folder, newest);
  }

  /** The commitInfo line of a commit, which is one of the first lines; null where it is not. */
  private static String info(FileSystem system, Path commit) throws Exception {
    BufferedReader lines = read(system, commit);
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

  /** Whether a file is from a span of time; a store with a resolution of one second rounds its time down. */
  private static boolean within(long made, long first, long last) {
    return made >= (made % 1000 == 0 ? first / 1000 * 1000 : first) && made <= last;
  }

  /** The partition folders as they are named, so many levels below a folder, with files from a span of time; nothing above the limits. */
  public static List partitions(SparkContext context, String location, int depth, long first, long last) throws Exception {
    Path root = new Path(location);
    FileSystem system = root.getFileSystem(context.hadoopConfiguration());
    ArrayList found = new ArrayList();
    int[] budget = new int[] {MOST_FILES};
    addPartitions(system, root, "", depth, first, last, found, budget);
    if (budget[0] < 0 || found.size() > MOST_PARTITIONS) found.clear();
    return found;
  }

  private static void addPartitions(FileSystem system, Path folder, String name, int depth, long first, long last, List found, int[] budget) throws Exception {
    RemoteIterator entries = system.listStatusIterator(folder);
    boolean written = false;
    while (entries.hasNext() && !written && --budget[0] >= 0) {
      FileStatus entry = (FileStatus) entries.next();
      String own = entry.getPath().getName();
      if (own.startsWith("_") || own.startsWith(".")) continue;
      if (depth > 0 && entry.isDirectory()) {
        addPartitions(system, entry.getPath(), name.isEmpty() ? own : name + "/" + own, depth - 1, first, last, found, budget);
      }
      written = depth == 0 && entry.isFile() && within(entry.getModificationTime(), first, last);
    }
    if (written) found.add(name);
  }

  /** Call a method with a single parameter by its name. */
  private static Object call(Object target, String name, Object argument) throws Exception {
    Method[] methods = target.getClass().getMethods();
    for (int i = 0; i < methods.length; i++) {
      Class[] types = methods[i].getParameterTypes();
      if (!methods[i].getName().equals(name) || types.length != 1 || !types[0].isInstance(argument)) continue;
      methods[i].setAccessible(true);
      return methods[i].invoke(target, new Object[] {argument});
    }
    throw new NoSuchMethodException(name);
  }

  private static Object call(Object target, String name) throws Exception {
    Method method = target.getClass().getMethod(name, new Class[0]);
    method.setAccessible(true); // a public method of a class that is not public
    return method.invoke(target, new Object[0]);
  }
}
