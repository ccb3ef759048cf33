//! Directed graphs in linear space, and the one question that the axioms ask of them: is there a cycle?

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// `(key, item)` pairs grouped by key (compressed sparse rows).
pub(super) struct Rows {
    start: Vec<usize>,
    items: Vec<u32>,
}

impl Rows {
    /// Groups the pairs; items of one key keep their order. Every key must be below `keys`.
    pub(super) fn group(keys: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Rows {
        let mut start = vec![0usize; keys + 1];
        for (key, _) in pairs.clone() {
            start[key as usize + 1] += 1;
        }
        for key in 0..keys {
            start[key + 1] += start[key];
        }
        let mut free = start.clone();
        let mut items = vec![0; start[keys]];
        for (key, item) in pairs {
            items[free[key as usize]] = item;
            free[key as usize] += 1;
        }
        Rows { start, items }
    }

    /// The items of a key.
    pub(super) fn of(&self, key: u32) -> &[u32] {
        &self.items[self.start[key as usize]..self.start[key as usize + 1]]
    }
}

/// A graph under construction: a number of nodes and a list of edges (duplicates do no harm).
pub(super) struct Graph {
    nodes: usize,
    edges: Vec<(u32, u32)>,
}

impl Graph {
    /// Nodes `0..nodes`, no edges.
    pub(super) fn new(nodes: usize) -> Graph {
        Graph { nodes, edges: Vec::new() }
    }

    /// Adds an edge.
    pub(super) fn edge(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    /// A cycle as its nodes in order, if there is one: the shortest through one of its nodes, since it is
    /// a person who reads it.
    pub(super) fn cycle(&self) -> Option<Vec<u32>> {
        let live = self.leading_to_cycles();
        let kept =
            || self.edges.iter().copied().filter(|&(from, to)| live[from as usize] && live[to as usize]);
        let successors = Rows::group(self.nodes, kept());

        // Every live node has a live successor, so a walk of as many steps as nodes ends on a cycle.
        let mut node = live.iter().position(|&live| live)? as u32;
        for _ in 0..self.nodes {
            node = successors.of(node)[0];
        }
        Some(shortest_round_trip(&successors, self.nodes, node))
    }

    /// Which nodes remain when those without successors are removed again and again.
    fn leading_to_cycles(&self) -> Vec<bool> {
        let predecessors = Rows::group(self.nodes, self.edges.iter().map(|&(from, to)| (to, from)));
        let mut outgoing = vec![0u32; self.nodes];
        for &(from, _) in &self.edges {
            outgoing[from as usize] += 1;
        }
        let mut leaves: Vec<u32> =
            (0..self.nodes as u32).filter(|&node| outgoing[node as usize] == 0).collect();
        while let Some(leaf) = leaves.pop() {
            for &node in predecessors.of(leaf) {
                outgoing[node as usize] -= 1;
                if outgoing[node as usize] == 0 {
                    leaves.push(node);
                }
            }
        }
        outgoing.iter().map(|&degree| degree > 0).collect()
    }
}

/// Breadth-first search from a node that lies on a cycle, back to itself.
fn shortest_round_trip(successors: &Rows, nodes: usize, home: u32) -> Vec<u32> {
    let mut parent: Vec<Option<u32>> = vec![None; nodes];
    let mut queue = VecDeque::from([home]);
    while let Some(node) = queue.pop_front() {
        for &next in successors.of(node) {
            if parent[next as usize].is_none() {
                parent[next as usize] = Some(node);
                queue.push_back(next);
            }
        }
        if parent[home as usize].is_some() {
            break;
        }
    }
    let mut path = vec![home];
    let mut node = home;
    while let Some(before) = parent[node as usize].filter(|&before| before != home) {
        path.push(before);
        node = before;
    }
    path[1..].reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        Graph { nodes, edges: edges.to_vec() }
    }

    #[test]
    fn a_graph_without_cycle_has_none() {
        assert_eq!(graph(0, &[]).cycle(), None);
        assert_eq!(graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]).cycle(), None);
    }

    #[test]
    fn cycles_come_in_order_and_short() {
        assert_eq!(graph(2, &[(0, 1), (1, 1)]).cycle(), Some(vec![1]));
        // A tail into the cycle, a tail out of it, and a detour that is longer than need be.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1), (2, 4), (4, 5)];
        let cycle = graph(6, &edges).cycle().unwrap();
        for (index, &node) in cycle.iter().enumerate() {
            assert!(edges.contains(&(node, cycle[(index + 1) % cycle.len()])), "{cycle:?}");
        }
    }
}
