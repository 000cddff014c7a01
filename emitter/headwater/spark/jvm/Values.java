package headwater.jvm;

import java.util.Iterator;
import java.util.Map;
import java.util.Set;
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
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;

/** Writes values of a plan as JSON, within a limit of values and of time. */
public abstract class Values {
  private static final int DEEPEST = 100;

  int budget;
  long deadline;
  int nesting = 0;
  String truncated = null;
  /** The ExprIds of the columns that projections and aggregates are written with; null for all. */
  Set wanted = null;

  /** Write a plan's node unless it is written, and return its index. */
  abstract int node(QueryPlan plan, boolean whole);

  /** Any value as JSON, in the form of a node's fields. */
  public String value(Object held) {
    StringBuilder out = new StringBuilder();
    any(out, held, 0);
    return out.toString();
  }

  boolean spent() {
    if (truncated != null) return true;
    if (--budget < 0) truncated = "size";
    else if ((budget & 255) == 0 && System.currentTimeMillis() > deadline) truncated = "time";
    return truncated != null;
  }

  /** The columns of a node: all of them, or none if a limit is reached on the way. */
  void output(StringBuilder out, QueryPlan plan) {
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

  void product(StringBuilder out, scala.Product value, int depth, boolean leaf, boolean part) {
    String[] names = Products.names(value);
    boolean listed = value instanceof Project || value instanceof Aggregate;
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
      if (listed && (names[i].equals("projectList") || names[i].equals("aggregateExpressions"))) columns(out, element, part);
      else any(out, element, depth + 1);
    }
    out.append('}');
  }

  /** The columns that a projection or an aggregate makes; in part without those that it passes on unchanged. */
  private void columns(StringBuilder out, Object list, boolean part) {
    scala.collection.Iterator entries = ((scala.collection.Iterable) list).iterator();
    out.append('[');
    boolean first = true;
    while (entries.hasNext()) {
      Object entry = entries.next();
      if (part && entry instanceof Attribute) continue;
      if (wanted != null && !Demand.wants(wanted, entry)) continue;
      if (spent()) break;
      if (!first) out.append(',');
      first = false;
      expression(out, (Expression) entry);
    }
    out.append(']');
  }

  void any(StringBuilder out, Object value, int depth) {
    if (value == null || spent()) out.append("null");
    else if (value instanceof scala.Option) any(out, ((scala.Option) value).isDefined() ? ((scala.Option) value).get() : null, depth);
    else if (value instanceof Expression) expression(out, (Expression) value);
    else if (value instanceof QueryPlan) out.append("{\"$plan\":").append(node((QueryPlan) value, true)).append('}');
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
    product(out, value, depth, false, false);
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
    // Of the options only these two, as others may be secrets.
    out.append(",\"options\":{\"url\":");
    string(out, option(value, "url"));
    out.append(",\"dbtable\":");
    string(out, option(value, "dbtable"));
    out.append("},\"schema\":").append(value.schema().json()).append('}');
  }

  /** An option of a table of JDBC; null for any other table. */
  private static String option(CatalogTable table, String name) {
    String provider = table.provider().isDefined() ? ((String) table.provider().get()).toLowerCase() : "";
    if (!provider.equals("jdbc") && !provider.startsWith("org.apache.spark.sql.jdbc") && !provider.contains(".jdbc.")) return null;
    scala.collection.Iterator entries = ((scala.collection.Iterable) (Object) table.storage().properties()).iterator();
    while (entries.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) entries.next();
      if (((String) entry._1()).equalsIgnoreCase(name)) return (String) entry._2();
    }
    return null;
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
      out.append(",\"plan\":").append(node(((PlanExpression) value).plan(), true));
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
