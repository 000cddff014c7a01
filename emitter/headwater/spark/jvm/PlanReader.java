package headwater.jvm;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayStructFields;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.OuterReference;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.types.DataType;

/**
 * Writes a query plan as JSON in one call: every node with its output, its constructor fields and its expressions.
 * Nodes above the limit of values or of time are left out; "truncated" then names the limit.
 */
public class PlanReader {
  private static final int DEEPEST = 100;
  private static final int LEAVES_VALUES = 20000;
  private static final int LEAVES_MILLIS = 500;

  private final ArrayList nodes = new ArrayList();
  private final ArrayList texts = new ArrayList();
  private final IdentityHashMap indexes = new IdentityHashMap();
  private final ArrayList leaves = new ArrayList();
  private long deadline;
  private int budget;
  private int nesting = 0;
  private String truncated = null;

  public PlanReader(int budget, long millis) {
    this.budget = budget;
    this.deadline = System.currentTimeMillis() + millis;
  }

  public Object node(int index) {
    return nodes.get(index);
  }

  public String read(Object plan) {
    try {
      node((QueryPlan) plan);
    } catch (StackOverflowError error) {
      truncated = "depth";
    }
    if (truncated != null) leaves((QueryPlan) plan);
    StringBuilder out = new StringBuilder("{\"truncated\":");
    string(out, truncated);
    out.append(",\"leaves\":").append(leaves);
    out.append(",\"nodes\":[");
    for (int i = 0; i < texts.size(); i++) {
      if (i > 0) out.append(',');
      out.append(texts.get(i) == null ? "null" : (String) texts.get(i));
    }
    return out.append("]}").toString();
  }

  /** The leaves of a truncated plan, read within limits of their own: they contain what a query reads. */
  private void leaves(QueryPlan plan) {
    String limit = truncated;
    truncated = null;
    budget = LEAVES_VALUES;
    deadline = System.currentTimeMillis() + LEAVES_MILLIS;
    ArrayList waiting = new ArrayList();
    waiting.add(plan);
    while (!waiting.isEmpty() && !spent()) {
      QueryPlan next = (QueryPlan) waiting.remove(waiting.size() - 1);
      scala.collection.Iterator children = ((scala.collection.Iterable) (Object) next.children()).iterator();
      if (!children.hasNext()) {
        indexes.remove(next); // it may have been written in part
        leaves.add(0, Integer.valueOf(node(next))); // the last child is visited first
      }
      while (children.hasNext()) waiting.add(children.next());
    }
    truncated = limit;
  }

  /** Any value as JSON, in the form of a node's fields. */
  public String value(Object held) {
    StringBuilder out = new StringBuilder();
    any(out, held, 0);
    return out.toString();
  }

  private boolean spent() {
    if (truncated != null) return true;
    if (--budget < 0) truncated = "size";
    else if ((budget & 255) == 0 && System.currentTimeMillis() > deadline) truncated = "time";
    return truncated != null;
  }

  private int node(QueryPlan plan) {
    Object known = indexes.get(plan);
    if (known != null) return ((Integer) known).intValue();
    int index = nodes.size();
    indexes.put(plan, Integer.valueOf(index));
    nodes.add(plan);
    texts.add(null);
    if (spent()) return index;
    StringBuilder out = new StringBuilder();
    out.append("{\"index\":").append(index).append(",\"class\":");
    string(out, plan.getClass().getName());
    scala.collection.Iterator children = ((scala.collection.Iterable) (Object) plan.children()).iterator();
    boolean leaf = !children.hasNext();
    // A command's target and columns come first, so that they are written even if its query is above the limits.
    out.append(",\"output\":");
    output(out, plan);
    out.append(",\"children\":[");
    StringBuilder fields = new StringBuilder();
    if (plan instanceof Command) product(fields, (scala.Product) plan, 0, leaf);
    for (boolean first = true; children.hasNext(); first = false) {
      if (!first) out.append(',');
      out.append(node((QueryPlan) children.next()));
    }
    out.append(']');
    if (plan instanceof Command) out.append(",\"command\":true");
    out.append(",\"sql\":");
    string(out, plan.origin().sqlText().isDefined() ? (String) plan.origin().sqlText().get() : null);
    out.append(",\"fields\":");
    if (fields.length() > 0) out.append(fields);
    else product(out, (scala.Product) plan, 0, leaf);
    out.append('}');
    texts.set(index, out.toString());
    return index;
  }

  /** The columns of a node: all of them, or none if a limit is reached on the way. */
  private void output(StringBuilder out, QueryPlan plan) {
    scala.collection.Iterator attributes;
    try {
      attributes = ((scala.collection.Iterable) (Object) plan.output()).iterator();
    } catch (Exception unresolved) {
      out.append("[]");
      return;
    }
    int before = out.length();
    out.append('[');
    for (boolean first = true; attributes.hasNext() && !spent(); first = false) {
      if (!first) out.append(',');
      attribute(out, (Attribute) attributes.next());
    }
    if (truncated != null) out.setLength(before + 1);
    out.append(']');
  }

  private void attribute(StringBuilder out, Attribute attribute) {
    NamedExpression named = (NamedExpression) attribute;
    out.append("[");
    try {
      out.append(named.exprId().id());
    } catch (Exception unresolved) {
      out.append(-1);
    }
    out.append(',');
    string(out, named.name());
    out.append(',');
    try {
      out.append(((Expression) (Object) attribute).dataType().json());
    } catch (Exception unresolved) {
      out.append("null");
    }
    if (attribute.metadata().contains("__metadata_col")) out.append(",true");
    out.append(']');
  }

  private void product(StringBuilder out, scala.Product value, int depth, boolean leaf) {
    String[] names = Products.names(value);
    out.append('{');
    boolean first = true;
    for (int i = 0; i < names.length && !spent(); i++) {
      Object element = value.productElement(i);
      if (leaf && names[i].equals("output")) continue;
      if (value instanceof QueryPlan && ((QueryPlan) value).children().contains(element)) continue;
      if (!first) out.append(',');
      first = false;
      string(out, names[i]);
      out.append(':');
      any(out, element, depth + 1);
    }
    out.append('}');
  }

  private void any(StringBuilder out, Object value, int depth) {
    if (value == null || spent()) out.append("null");
    else if (value instanceof scala.Option) any(out, ((scala.Option) value).isDefined() ? ((scala.Option) value).get() : null, depth);
    else if (value instanceof Expression) expression(out, (Expression) value);
    else if (value instanceof QueryPlan) out.append("{\"$plan\":").append(node((QueryPlan) value)).append('}');
    else if (value instanceof Boolean || value instanceof Integer || value instanceof Long) out.append(value);
    else if (value instanceof String || value instanceof Enum || Leaves.plain(value)) string(out, Leaves.text(value));
    else if (value instanceof DataType) out.append("{\"$type\":").append(((DataType) value).json()).append('}');
    else if (value instanceof TableIdentifier) table(out, (TableIdentifier) value);
    else if (value instanceof CatalogTable) catalogTable(out, (CatalogTable) value, depth);
    else if (value instanceof scala.collection.Map) scalaMap(out, (scala.collection.Map) value, depth);
    else if (value instanceof Map) javaMap(out, (Map) value, depth);
    else if (value instanceof scala.collection.Iterable) iterable(out, ((scala.collection.Iterable) value).iterator(), depth);
    else if (value instanceof java.util.List) array(out, ((java.util.List) value).toArray(), depth);
    else if (Leaves.known(value)) any(out, Leaves.describe(value), depth);
    else if (value instanceof scala.Product && depth < 6) nested(out, (scala.Product) value, depth);
    else if (value instanceof Object[]) array(out, (Object[]) value, depth);
    else named(out, value.getClass().getName());
  }

  private void named(StringBuilder out, String name) {
    out.append("{\"$\":");
    string(out, name);
    out.append('}');
  }

  private void nested(StringBuilder out, scala.Product value, int depth) {
    if (value.productArity() == 0) {
      string(out, value.toString());
      return;
    }
    out.append("{\"$\":");
    string(out, value.getClass().getName());
    out.append(",\"of\":");
    product(out, value, depth, false);
    out.append('}');
  }

  private void table(StringBuilder out, TableIdentifier value) {
    out.append("{\"$\":\"table\",\"table\":");
    string(out, value.table());
    out.append(",\"database\":");
    string(out, value.database().isDefined() ? (String) value.database().get() : null);
    out.append('}');
  }

  private void catalogTable(StringBuilder out, CatalogTable value, int depth) {
    out.append("{\"$\":\"catalogTable\",\"identifier\":");
    table(out, value.identifier());
    out.append(",\"type\":");
    string(out, value.tableType().name());
    out.append(",\"provider\":");
    string(out, value.provider().isDefined() ? (String) value.provider().get() : null);
    out.append(",\"location\":");
    string(out, value.storage().locationUri().isDefined() ? Leaves.text(value.storage().locationUri().get()) : null);
    out.append(",\"serde\":");
    string(out, value.storage().serde().isDefined() ? (String) value.storage().serde().get() : null);
    out.append(",\"partitions\":");
    any(out, value.partitionColumnNames(), depth);
    out.append(",\"bucket\":");
    any(out, value.bucketSpec(), depth);
    out.append(",\"schema\":").append(value.schema().json()).append('}');
  }

  private void scalaMap(StringBuilder out, scala.collection.Map map, int depth) {
    out.append('{');
    scala.collection.Iterator entries = map.iterator();
    for (boolean first = true; entries.hasNext() && !spent(); first = false) {
      scala.Tuple2 entry = (scala.Tuple2) entries.next();
      if (!first) out.append(',');
      string(out, String.valueOf(entry._1()));
      out.append(':');
      any(out, entry._2(), depth + 1);
    }
    out.append('}');
  }

  private void javaMap(StringBuilder out, Map map, int depth) {
    out.append('{');
    Iterator entries = map.entrySet().iterator();
    for (boolean first = true; entries.hasNext() && !spent(); first = false) {
      Map.Entry entry = (Map.Entry) entries.next();
      if (!first) out.append(',');
      string(out, String.valueOf(entry.getKey()));
      out.append(':');
      any(out, entry.getValue(), depth + 1);
    }
    out.append('}');
  }

  private void iterable(StringBuilder out, scala.collection.Iterator values, int depth) {
    out.append('[');
    for (boolean first = true; values.hasNext() && !spent(); first = false) {
      if (!first) out.append(',');
      any(out, values.next(), depth + 1);
    }
    out.append(']');
  }

  private void array(StringBuilder out, Object[] values, int depth) {
    out.append('[');
    for (int i = 0; i < values.length && !spent(); i++) {
      if (i > 0) out.append(',');
      any(out, values[i], depth + 1);
    }
    out.append(']');
  }

  private void expression(StringBuilder out, Expression value) {
    if (spent()) {
      out.append("null");
      return;
    }
    if (++nesting > DEEPEST) collapsed(out, value);
    else plain(out, value);
    nesting--;
  }

  /** An expression below the deepest level, as the columns that it refers to. */
  private void collapsed(StringBuilder out, Expression value) {
    out.append("{\"e\":\"Collapsed\",\"of\":[");
    scala.collection.Iterator references = ((scala.collection.Iterable) (Object) value.references()).iterator();
    for (boolean first = true; references.hasNext() && !spent(); first = false) {
      if (!first) out.append(',');
      plain(out, (Expression) references.next());
    }
    out.append("]}");
  }

  private void plain(StringBuilder out, Expression value) {
    String type = value.getClass().getName();
    out.append("{\"e\":");
    string(out, type.substring(type.lastIndexOf('.') + 1));
    if (value instanceof Attribute || value instanceof Alias) {
      NamedExpression named = (NamedExpression) value;
      out.append(",\"name\":");
      string(out, named.name());
      try {
        out.append(",\"id\":").append(named.exprId().id());
      } catch (Exception unresolved) {
        out.append(-1);
      }
    } else if (value instanceof Literal) {
      Object held = ((Literal) value).value();
      String text = held == null ? null : held.toString();
      out.append(",\"value\":");
      string(out, text == null || text.length() <= 200 ? text : text.substring(0, 200));
    } else if (value instanceof GetStructField) {
      out.append(",\"name\":");
      string(out, ((GetStructField) value).extractFieldName());
    } else if (value instanceof GetArrayStructFields) {
      out.append(",\"name\":");
      string(out, ((GetArrayStructFields) value).field().name());
    } else if (value instanceof Cast) {
      out.append(",\"same\":").append(same((Cast) value));
    } else if (value instanceof AggregateExpression) {
      out.append(",\"id\":").append(((AggregateExpression) value).resultId().id());
    } else if (value instanceof PlanExpression) {
      out.append(",\"plan\":").append(node(((PlanExpression) value).plan()));
    } else if (Leaves.hasName(value)) {
      out.append(",\"name\":");
      string(out, Leaves.name(value));
    }
    if (value instanceof RuntimeReplaceable) {
      out.append(",\"replaced\":true,\"of\":[");
      expression(out, ((RuntimeReplaceable) value).replacement());
      out.append("]}");
      return;
    }
    out.append(",\"of\":[");
    if (value instanceof OuterReference) expression(out, (Expression) ((OuterReference) value).e());
    scala.collection.Iterator children = ((scala.collection.Iterable) (Object) value.children()).iterator();
    for (boolean first = true; children.hasNext(); first = false) {
      if (!first) out.append(',');
      expression(out, (Expression) children.next());
    }
    out.append("]}");
  }

  private static boolean same(Cast cast) {
    try {
      return cast.dataType().sameType(((Expression) cast.child()).dataType());
    } catch (Exception unresolved) {
      return false;
    }
  }

  static void string(StringBuilder out, String text) {
    if (text == null) {
      out.append("null");
      return;
    }
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c < ' ' || (c >= 0xD800 && c <= 0xDFFF)) {
        String hex = Integer.toHexString(c);
        out.append("\\u").append("0000".substring(hex.length())).append(hex);
      } else out.append(c);
    }
    out.append('"');
  }
}
