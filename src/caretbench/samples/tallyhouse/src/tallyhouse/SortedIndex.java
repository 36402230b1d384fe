package tallyhouse;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/** Values by key, in order: a search tree that keeps its two sides alike (AVL). */
public final class SortedIndex<K extends Comparable<K>, V> {
    private static final class Node<K, V> {
        private K key;
        private V value;
        private Node<K, V> left;
        private Node<K, V> right;
        private int height = 1;
        private int size = 1;

        Node(K key, V value) {
            this.key = key;
            this.value = value;
        }
    }

    private Node<K, V> root;

    /** How many keys there are. */
    public int size() {
        return size(root);
    }

    /** How many keys stand above each other. */
    public int height() {
        return height(root);
    }

    /** The value of a key, or null. */
    public V get(K key) {
        Node<K, V> node = root;
        while (node != null) {
            int side = key.compareTo(node.key);
            if (side == 0) {
                return node.value;
            }
            node = side < 0 ? node.left : node.right;
        }
        return null;
    }

    /** Sets the value of a key. */
    public void put(K key, V value) {
        root = put(root, key, value);
    }

    private Node<K, V> put(Node<K, V> node, K key, V value) {
        if (node == null) {
            return new Node<>(key, value);
        }
        int side = key.compareTo(node.key);
        if (side == 0) {
            node.value = value;
            return node;
        }
        if (side < 0) {
            node.left = put(node.left, key, value);
        } else {
            node.right = put(node.right, key, value);
        }
        return balanced(node);
    }

    /** Takes a key out; false where it was not there. */
    public boolean remove(K key) {
        int before = size();
        root = remove(root, key);
        return size() < before;
    }

    private Node<K, V> remove(Node<K, V> node, K key) {
        if (node == null) {
            return null;
        }
        int side = key.compareTo(node.key);
        if (side < 0) {
            node.left = remove(node.left, key);
        } else if (side > 0) {
            node.right = remove(node.right, key);
        } else if (node.left == null || node.right == null) {
            return node.left == null ? node.right : node.left;
        } else {
            Node<K, V> next = node.right;
            while (next.left != null) {
                next = next.left;
            }
            node.key = next.key;
            node.value = next.value;
            node.right = remove(node.right, next.key);
        }
        return balanced(node);
    }

    /** The largest key that is not larger than this one, or null. */
    public K floor(K key) {
        K best = null;
        Node<K, V> node = root;
        while (node != null) {
            int side = key.compareTo(node.key);
            if (side == 0) {
                return node.key;
            }
            if (side > 0) {
                best = node.key;
                node = node.right;
            } else {
                node = node.left;
            }
        }
        return best;
    }

    /** How many keys are smaller than this one. */
    public int rank(K key) {
        int smaller = 0;
        Node<K, V> node = root;
        while (node != null) {
            if (key.compareTo(node.key) <= 0) {
                node = node.left;
            } else {
                smaller += size(node.left) + 1;
                node = node.right;
            }
        }
        return smaller;
    }

    /** The key that has so many smaller ones. */
    public K at(int place) {
        if (place < 0 || place >= size()) {
            throw new IndexOutOfBoundsException(place);
        }
        Node<K, V> node = root;
        int left = place;
        while (true) {
            int below = size(node.left);
            if (left == below) {
                return node.key;
            }
            if (left < below) {
                node = node.left;
            } else {
                left -= below + 1;
                node = node.right;
            }
        }
    }

    /** The keys from one to another, both included. */
    public List<K> between(K low, K high) {
        List<K> found = new ArrayList<>();
        collect(root, low, high, found);
        return found;
    }

    private void collect(Node<K, V> node, K low, K high, List<K> found) {
        if (node == null) {
            return;
        }
        boolean notBelow = low.compareTo(node.key) <= 0;
        boolean notAbove = node.key.compareTo(high) <= 0;
        if (notBelow) {
            collect(node.left, low, high, found);
        }
        if (notBelow && notAbove) {
            found.add(node.key);
        }
        if (notAbove) {
            collect(node.right, low, high, found);
        }
    }

    /** Shows every key and value in order. */
    public void forEach(BiConsumer<K, V> visitor) {
        List<Node<K, V>> waiting = new ArrayList<>();
        Node<K, V> node = root;
        while (node != null || !waiting.isEmpty()) {
            while (node != null) {
                waiting.add(node);
                node = node.left;
            }
            node = waiting.remove(waiting.size() - 1);
            visitor.accept(node.key, node.value);
            node = node.right;
        }
    }

    private static <K, V> int height(Node<K, V> node) {
        return node == null ? 0 : node.height;
    }

    private static <K, V> int size(Node<K, V> node) {
        return node == null ? 0 : node.size;
    }

    private static <K, V> void update(Node<K, V> node) {
        node.height = 1 + Math.max(height(node.left), height(node.right));
        node.size = 1 + size(node.left) + size(node.right);
    }

    private static <K, V> Node<K, V> balanced(Node<K, V> node) {
        update(node);
        int lean = height(node.left) - height(node.right);
        if (lean > 1) {
            if (height(node.left.left) < height(node.left.right)) {
                node.left = turnLeft(node.left);
            }
            return turnRight(node);
        }
        if (lean < -1) {
            if (height(node.right.right) < height(node.right.left)) {
                node.right = turnRight(node.right);
            }
            return turnLeft(node);
        }
        return node;
    }

    private static <K, V> Node<K, V> turnRight(Node<K, V> node) {
        Node<K, V> top = node.left;
        node.left = top.right;
        top.right = node;
        update(node);
        update(top);
        return top;
    }

    private static <K, V> Node<K, V> turnLeft(Node<K, V> node) {
        Node<K, V> top = node.right;
        node.right = top.left;
        top.left = node;
        update(node);
        update(top);
        return top;
    }
}
