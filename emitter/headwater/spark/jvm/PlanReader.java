package headwater.jvm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.View;

/**
 * Writes a query plan as JSON in one call: every node with its output, its constructor fields and its expressions.
 *
 * A chain of nodes that pass columns on (Demand.passes) is compressed: below its top, a node is written without its output,
 * and a projection without the columns that it passes on unchanged ("partial").
 *
 * A plan above the limit of values or of time is read again, for the first half of its columns, the first quarter, ...;
 * "limit" then names the limit, and the lists of projections and aggregates have the entries of these columns only. If no
 * part fits, nodes above the limit are left out and "truncated" names it.
 */
public class PlanReader extends Values {
  /** Nodes above a statement's own plan that leave its rows and columns as they are. */
  private static final HashSet AS_IT_IS = new HashSet(Arrays.asList(new String[] {"WithCTE", "SubqueryAlias", "Repartition", "RepartitionByExpression", "RebalancePartitions", "GlobalLimit", "LocalLimit", "ResolvedHint", "Union"}));
  private static final int LEAVES_VALUES = 20000;
  private static final int LEAVES_MILLIS = 500;

  private final int most;
  private final long millis;
  private final ArrayList nodes = new ArrayList();
  private final ArrayList texts = new ArrayList();
  private final IdentityHashMap indexes = new IdentityHashMap();
  private final HashSet compressed = new HashSet();
  private final ArrayList leaves = new ArrayList();
  private boolean hasText = false;
  private String limit = null;

  public PlanReader(int budget, long millis) {
    this.most = budget;
    this.millis = millis;
    begin(millis);
  }

  private void begin(long time) {
    nodes.clear();
    texts.clear();
    indexes.clear();
    compressed.clear();
    nesting = 0;
    hasText = false;
    truncated = null;
    budget = most;
    deadline = System.currentTimeMillis() + time;
  }

  public Object node(int index) {
    return nodes.get(index);
  }

  public String read(Object plan) {
    attempt((QueryPlan) plan);
    if (truncated != null && !truncated.equals("depth")) {
      limit = truncated;
      if (!part((QueryPlan) plan)) {
        limit = null;
        wanted = null;
        begin(millis / 4);
        attempt((QueryPlan) plan);
        if (truncated == null) truncated = "time";
      }
    }
    if (truncated != null) leaves((QueryPlan) plan);
    StringBuilder out = new StringBuilder("{\"truncated\":");
    string(out, truncated);
    out.append(",\"limit\":");
    string(out, limit);
    out.append(",\"leaves\":").append(leaves);
    out.append(",\"nodes\":[");
    for (int i = 0; i < texts.size(); i++) {
      if (i > 0) out.append(',');
      out.append(texts.get(i) == null ? "null" : (String) texts.get(i));
    }
    return out.append("]}").toString();
  }

  private void attempt(QueryPlan plan) {
    hasText = false;
    try {
      node(plan, true);
    } catch (StackOverflowError error) {
      truncated = "depth";
    }
  }

  /** Read the plan for the first columns of its queries, as many as fit, but half of them at most; return whether any fit. */
  private boolean part(QueryPlan plan) {
    Demand demand = new Demand(plan);
    long end = System.currentTimeMillis() + millis;
    for (int columns = demand.columns() / 2; columns > 0 && System.currentTimeMillis() < end; columns /= 2) {
      wanted = demand.of(columns);
      begin(millis / 4);
      attempt(plan);
      if (truncated == null) return true;
    }
    return false;
  }

  /** The leaves of a truncated plan, read within limits of their own: they contain what a query reads. */
  private void leaves(QueryPlan plan) {
    String reached = truncated;
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
        leaves.add(0, Integer.valueOf(node(next, true))); // the last child is visited first
      }
      while (children.hasNext()) waiting.add(children.next());
    }
    truncated = reached;
  }

  /** The text of the statement that a node is the plan of, or null; after a text, or a step that is not a statement's, there is none. */
  private String statement(QueryPlan plan, boolean inner, boolean leaf) {
    // A table that the catalog caches has the text of the statement that it was read for first, a view that of its query.
    boolean cached = inner && (leaf || plan instanceof SubqueryAlias || plan instanceof View);
    if (!cached && plan.origin().sqlText().isDefined()) {
      hasText = true;
      return (String) plan.origin().sqlText().get();
    }
    hasText = !leaf && !(plan instanceof Command) && !AS_IT_IS.contains(plan.getClass().getSimpleName());
    return null;
  }

  /** Write a node unless it is written; {@code whole} is whether its parent needs its complete columns. */
  int node(QueryPlan plan, boolean whole) {
    boolean passes = Demand.passes(plan);
    boolean part = passes && !whole;
    Object known = indexes.get(plan);
    if (known != null && (part || !compressed.remove(known))) return ((Integer) known).intValue();
    int index = known == null ? nodes.size() : ((Integer) known).intValue();
    if (known == null) {
      indexes.put(plan, Integer.valueOf(index));
      nodes.add(plan);
      texts.add(null);
    }
    if (part) compressed.add(Integer.valueOf(index));
    if (spent()) return index;
    StringBuilder out = new StringBuilder();
    out.append("{\"index\":").append(index).append(",\"class\":");
    string(out, plan.getClass().getName());
    scala.collection.Iterator children = ((scala.collection.Iterable) (Object) plan.children()).iterator();
    boolean leaf = !children.hasNext();
    String text = hasText ? null : statement(plan, index > 0, leaf);
    // A command's target and columns come first, so that they are written even if its query is above the limits.
    out.append(",\"output\":");
    if (part) out.append("[]");
    else output(out, plan);
    out.append(",\"children\":[");
    StringBuilder fields = new StringBuilder();
    if (plan instanceof Command) product(fields, (scala.Product) plan, 0, leaf, false);
    for (boolean first = true; children.hasNext(); first = false) {
      if (!first) out.append(',');
      out.append(node((QueryPlan) children.next(), !passes));
    }
    out.append(']');
    if (plan instanceof Command) out.append(",\"command\":true");
    if (part) out.append(",\"partial\":true");
    if (text != null) {
      out.append(",\"sql\":");
      string(out, text);
    }
    out.append(",\"fields\":");
    if (fields.length() > 0) out.append(fields);
    else product(out, (scala.Product) plan, 0, leaf, part);
    Map reported = Reported.node(plan);
    if (reported != null) {
      out.append(",\"lineage\":");
      any(out, reported, 0);
    }
    out.append('}');
    texts.set(index, out.toString());
    return index;
  }
}
