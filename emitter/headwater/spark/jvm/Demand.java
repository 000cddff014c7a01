package headwater.jvm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;

/**
 * The columns (by ExprId) that the first columns of a plan's queries are computed from. All columns that decide on rows, and
 * those below nodes that are not known here, are among them.
 */
public class Demand {
  // Nodes with one child whose columns they pass on, and whose expressions refer to it.
  private static final Set PASSING = new HashSet(Arrays.asList(new Object[] {
      "Project", "Filter", "SubqueryAlias", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Repartition",
      "RepartitionByExpression", "ResolvedHint"}));
  // Other nodes that need no column of their children that they do not refer to.
  private static final Set REFERRING = new HashSet(Arrays.asList(new Object[] {"Join", "Window", "Generate", "View", "WithCTE"}));
  private static final String PACKAGE = "org.apache.spark.sql.catalyst.plans.logical.";

  private final ArrayList queries = new ArrayList();
  private final HashMap makers = new HashMap();
  private final HashSet always = new HashSet();

  public Demand(QueryPlan plan) {
    top(plan);
    IdentityHashMap seen = new IdentityHashMap();
    ArrayList waiting = new ArrayList();
    waiting.add(plan);
    while (!waiting.isEmpty()) {
      QueryPlan next = (QueryPlan) waiting.remove(waiting.size() - 1);
      if (seen.put(next, next) != null) continue;
      visit(next);
      add(waiting, next.children());
      add(waiting, next.subqueries());
      add(waiting, next.innerChildren());
    }
  }

  /** Whether a node passes the columns of its only child on. */
  static boolean passes(QueryPlan plan) {
    return within(plan, PASSING);
  }

  private static boolean within(QueryPlan plan, Set kinds) {
    String type = plan.getClass().getName();
    return type.startsWith(PACKAGE) && kinds.contains(type.substring(PACKAGE.length()));
  }

  /** Whether an entry of a projection or an aggregate is one of the columns. */
  static boolean wants(Set columns, Object entry) {
    return columns.contains(Long.valueOf(((NamedExpression) entry).exprId().id()));
  }

  /** The most columns that a query of the plan has. */
  int columns() {
    int most = 0;
    for (int i = 0; i < queries.size(); i++) most = Math.max(most, ((List) queries.get(i)).size());
    return most;
  }

  /** The columns that the first {@code count} of each query are computed from. */
  Set of(int count) {
    HashSet found = new HashSet();
    ArrayList waiting = new ArrayList(always);
    for (int i = 0; i < queries.size(); i++) {
      List columns = (List) queries.get(i);
      waiting.addAll(columns.subList(0, Math.min(count, columns.size())));
    }
    while (!waiting.isEmpty()) {
      Object id = waiting.remove(waiting.size() - 1);
      if (!found.add(id)) continue;
      List parts = (List) makers.get(id);
      for (int i = 0; parts != null && i < parts.size(); i++) {
        if (parts.get(i) instanceof Expression) references(waiting, (Expression) parts.get(i));
        else waiting.add(parts.get(i));
      }
    }
    return found;
  }

  private void top(QueryPlan plan) {
    if (!(plan instanceof Command)) {
      queries.add(output(plan));
      return;
    }
    ArrayList written = new ArrayList();
    add(written, plan.children());
    add(written, plan.innerChildren());
    for (int i = 0; i < written.size(); i++) queries.add(output((QueryPlan) written.get(i)));
  }

  private void visit(QueryPlan plan) {
    if (plan instanceof Project) {
      made(((Project) plan).projectList());
    } else if (plan instanceof Aggregate) {
      made(((Aggregate) plan).aggregateExpressions());
      referred(((Aggregate) plan).groupingExpressions());
    } else if (plan instanceof Union) {
      byPosition(plan);
    } else {
      referred(plan.expressions());
      if (!within(plan, PASSING) && !within(plan, REFERRING) && !(plan instanceof Command)) all(plan.children());
    }
    all(plan.subqueries());
  }

  private void made(Object list) {
    scala.collection.Iterator entries = ((scala.collection.Iterable) list).iterator();
    while (entries.hasNext()) {
      Object entry = entries.next();
      if (entry instanceof Attribute) continue;
      if (entry instanceof Alias) maker(Long.valueOf(((NamedExpression) entry).exprId().id()), entry);
      else references(always, (Expression) entry);
    }
  }

  private void maker(Object id, Object part) {
    List parts = (List) makers.get(id);
    if (parts == null) makers.put(id, parts = new ArrayList());
    parts.add(part);
  }

  private void byPosition(QueryPlan union) {
    List own = output(union);
    scala.collection.Iterator children = ((scala.collection.Iterable) (Object) union.children()).iterator();
    while (children.hasNext()) {
      List below = output((QueryPlan) children.next());
      for (int i = 0; i < own.size() && i < below.size(); i++) maker(own.get(i), below.get(i));
    }
  }

  private void referred(Object expressions) {
    scala.collection.Iterator found = ((scala.collection.Iterable) expressions).iterator();
    while (found.hasNext()) references(always, (Expression) found.next());
  }

  private void all(Object plans) {
    scala.collection.Iterator found = ((scala.collection.Iterable) plans).iterator();
    while (found.hasNext()) always.addAll(output((QueryPlan) found.next()));
  }

  private static void references(java.util.Collection into, Expression expression) {
    scala.collection.Iterator found = ((scala.collection.Iterable) (Object) expression.references()).iterator();
    while (found.hasNext()) into.add(Long.valueOf(((NamedExpression) found.next()).exprId().id()));
  }

  private static void add(List into, Object plans) {
    scala.collection.Iterator found = ((scala.collection.Iterable) plans).iterator();
    while (found.hasNext()) {
      Object next = found.next();
      if (next instanceof QueryPlan) into.add(next);
    }
  }

  private static List output(QueryPlan plan) {
    ArrayList found = new ArrayList();
    try {
      scala.collection.Iterator columns = ((scala.collection.Iterable) (Object) plan.output()).iterator();
      while (columns.hasNext()) found.add(Long.valueOf(((NamedExpression) columns.next()).exprId().id()));
    } catch (Exception unresolved) {
      found.clear();
    }
    return found;
  }
}
