package headwater.jvm;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.HashMap;

/** The names of a case class's constructor fields. */
public class Products {
  private static final HashMap FIELDS = new HashMap();

  /** Names by position: scalac writes the constructor's fields first and in order; each is checked against its value. */
  static String[] names(scala.Product value) {
    Field[] fields = fields(value.getClass());
    String[] names = new String[value.productArity()];
    int next = 0;
    for (int i = 0; i < names.length; i++) {
      Object element = value.productElement(i);
      names[i] = "_" + (i + 1);
      for (int j = next; j < fields.length; j++) {
        Object held;
        try {
          held = fields[j].get(value);
        } catch (IllegalAccessException sealed) {
          continue;
        }
        if (held == element || (held != null && element != null && held.getClass() == element.getClass() && boxed(held) && held.equals(element))) {
          names[i] = fields[j].getName();
          next = j + 1;
          break;
        }
      }
    }
    return names;
  }

  private static Field[] fields(Class type) {
    synchronized (FIELDS) {
      Field[] known = (Field[]) FIELDS.get(type);
      if (known != null) return known;
      ArrayList found = new ArrayList();
      Field[] declared = type.getDeclaredFields();
      for (int i = 0; i < declared.length; i++) {
        if (Modifier.isStatic(declared[i].getModifiers()) || declared[i].getName().startsWith("bitmap$")) continue;
        try {
          declared[i].setAccessible(true);
          found.add(declared[i]);
        } catch (RuntimeException sealed) {
          continue;
        }
      }
      known = (Field[]) found.toArray(new Field[0]);
      FIELDS.put(type, known);
      return known;
    }
  }

  private static boolean boxed(Object value) {
    return value instanceof Number || value instanceof Boolean || value instanceof Character;
  }
}
