package headwater.jvm;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand;

/**
 * Lineage that connectors report themselves, through the interfaces of the official integration: LineageRelation,
 * LineageRelationProvider, InputLineageNode, OutputLineageNode and ColumnLevelLineageNode. Connectors contain these interfaces
 * under packages of their own, so they are found by their names and called by reflection.
 */
public class Reported {
  private static final String EVENT = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart";
  private static final Class[] NONE = new Class[0];
  private static final HashMap INTERFACES = new HashMap();

  /** The key that a relation or a table reports as {namespace, name}, or null. */
  static Object relation(Object value) {
    Class kind = implemented(value.getClass(), "LineageRelation");
    return kind == null ? null : identifier(kind, value, null, null);
  }

  /** What a plan node reports: some of inputs, outputs, columnInputs, columnOutputs, dependencies, key and failed; or null. */
  static Map node(QueryPlan plan) {
    LinkedHashMap map = new LinkedHashMap();
    if (plan instanceof SaveIntoDataSourceCommand) {
      SaveIntoDataSourceCommand command = (SaveIntoDataSourceCommand) plan;
      Class provider = implemented(command.dataSource().getClass(), "LineageRelationProvider");
      if (provider != null) map.put("key", identifier(provider, command.dataSource(), session(), command.options()));
    }
    Class inputs = implemented(plan.getClass(), "InputLineageNode");
    if (inputs != null) add(map, "inputs", inputs, plan, "getInputs");
    Class outputs = implemented(plan.getClass(), "OutputLineageNode");
    if (outputs != null) add(map, "outputs", outputs, plan, "getOutputs");
    Class columns = implemented(plan.getClass(), "ColumnLevelLineageNode");
    if (columns != null) {
      add(map, "columnInputs", columns, plan, "columnLevelLineageInputs");
      add(map, "columnOutputs", columns, plan, "columnLevelLineageOutputs");
      add(map, "dependencies", columns, plan, "columnLevelLineageDependencies");
    }
    return map.isEmpty() ? null : map;
  }

  private static Object session() {
    scala.Option session = SparkSession.getDefaultSession();
    return session.isDefined() ? ((SparkSession) session.get()).sqlContext() : null;
  }

  private static void add(Map map, String key, Class kind, Object node, String method) {
    try {
      Method found = method(kind, method);
      if (found == null) found = method(kind, "get" + method.substring(0, 1).toUpperCase() + method.substring(1));
      if (found == null) return;
      List entries = list(call(found, node, null, null));
      ArrayList described = new ArrayList();
      for (int i = 0; i < entries.size(); i++) described.add(described(entries.get(i)));
      map.put(key, described);
    } catch (Exception fault) {
      map.put("failed", fault.toString());
    } catch (LinkageError fault) {
      map.put("failed", fault.toString()); // the connector was compiled with other interfaces than it contains
    }
  }

  private static Object identifier(Class kind, Object value, Object context, Object parameters) {
    try {
      return key(call(method(kind, "getLineageDatasetIdentifier"), value, context, parameters));
    } catch (Exception fault) {
      return null;
    } catch (LinkageError fault) {
      return null;
    }
  }

  private static Object key(Object identifier) {
    if (identifier == null) return null;
    LinkedHashMap map = new LinkedHashMap();
    map.put("namespace", get(identifier, "namespace"));
    map.put("name", get(identifier, "name"));
    return map;
  }

  /** A dataset, field or dependency of the interfaces as a map of what it has. */
  private static Map described(Object entry) {
    LinkedHashMap map = new LinkedHashMap();
    Object identifier = get(entry, "datasetIdentifier");
    if (identifier != null) map.put("key", key(identifier));
    Object delegate = get(entry, "node");
    if (delegate == null) delegate = get(entry, "delegate");
    if (delegate != null) map.put("delegate", delegate);
    facets(map, "facets", get(entry, "datasetFacetsBuilder"), get(entry, "facetsBuilder"));
    facets(map, "ownFacets", get(entry, "inputFacetsBuilder"), get(entry, "outputFacetsBuilder"));
    Object inner = get(entry, "fieldWithExprId");
    Object held = inner == null ? entry : inner;
    Object name = get(held, "field");
    if (name != null) map.put("field", String.valueOf(name));
    Object id = get(held, "exprId");
    if (id == null) id = get(held, "outputExprId");
    if (id != null) map.put("id", id(id));
    Object needed = get(entry, "inputExprIds");
    if (needed != null) {
      ArrayList ids = new ArrayList();
      List all = list(needed);
      for (int i = 0; i < all.size(); i++) ids.add(id(all.get(i)));
      map.put("ids", ids);
    }
    Object expression = get(entry, "expression");
    if (expression != null) map.put("expression", expression);
    return map;
  }

  private static Object id(Object held) {
    Object id = get(held, "exprId");
    return id == null ? held : id;
  }

  private static void facets(Map map, String key, Object builder, Object otherwise) {
    Object given = builder == null ? otherwise : builder;
    Object facets = given == null ? null : get(given, "build");
    if (facets == null) return;
    try {
      map.put(key, new ObjectMapper().convertValue(facets, Map.class));
    } catch (IllegalArgumentException unfit) {
      return; // the dataset is worth more than its facets
    }
  }

  private static List list(Object held) {
    if (held instanceof List) return (List) held;
    ArrayList found = new ArrayList();
    if (held instanceof scala.collection.Iterable) {
      scala.collection.Iterator values = ((scala.collection.Iterable) held).iterator();
      while (values.hasNext()) found.add(values.next());
    }
    return found;
  }

  /** A member by its accessor in Scala's or in Java's form; null where there is none. */
  private static Object get(Object held, String name) {
    Method found = method(held.getClass(), name);
    if (found == null) found = method(held.getClass(), "get" + name.substring(0, 1).toUpperCase() + name.substring(1));
    if (found == null || found.getParameterTypes().length > 0) return null;
    try {
      found.setAccessible(true);
      return found.invoke(held, new Object[0]);
    } catch (Exception failed) {
      return null;
    }
  }

  private static Method method(Class kind, String name) {
    Method[] methods = kind.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals(name) && !methods[i].isBridge()) return methods[i];
    }
    return null;
  }

  private static Object call(Method method, Object target, Object context, Object parameters) throws Exception {
    Class[] types = method.getParameterTypes();
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      if (types[i] == Object.class) values[i] = i == types.length - 1 ? parameters : context;
      else values[i] = argument(types[i], 2);
    }
    method.setAccessible(true);
    try {
      return method.invoke(target, values);
    } catch (InvocationTargetException failed) {
      if (failed.getCause() instanceof Exception) throw (Exception) failed.getCause();
      throw failed;
    }
  }

  /** An argument of an interface's method: the event's name, an OpenLineage, or a context that is made of these. */
  private static Object argument(Class type, int depth) {
    if (type == String.class) return EVENT;
    if (type == URI.class) return URI.create("https://headwater.invalid/spark");
    if (depth == 0 || type.isPrimitive() || type.getName().startsWith("java.")) return null;
    Constructor[] constructors = type.getConstructors();
    for (int i = 0; i < constructors.length; i++) {
      Class[] types = constructors[i].getParameterTypes();
      Object[] values = new Object[types.length];
      for (int j = 0; j < types.length; j++) values[j] = argument(types[j], depth - 1);
      try {
        return constructors[i].newInstance(values);
      } catch (Exception unfit) {
        continue;
      }
    }
    return null;
  }

  /** The interface of the official integration with this name that a class implements, or null. */
  private static Class implemented(Class type, String name) {
    List all;
    synchronized (INTERFACES) {
      all = (List) INTERFACES.get(type);
      if (all == null) {
        LinkedHashSet found = new LinkedHashSet();
        for (Class owner = type; owner != null; owner = owner.getSuperclass()) collect(owner, found);
        all = new ArrayList(found);
        INTERFACES.put(type, all);
      }
    }
    for (int i = 0; i < all.size(); i++) {
      if (((Class) all.get(i)).getName().endsWith("." + name)) return (Class) all.get(i);
    }
    return null;
  }

  private static void collect(Class type, LinkedHashSet found) {
    Class[] interfaces = type.getInterfaces();
    for (int i = 0; i < interfaces.length; i++) {
      if (interfaces[i].getName().indexOf("openlineage") >= 0) found.add(interfaces[i]);
      collect(interfaces[i], found);
    }
  }
}
