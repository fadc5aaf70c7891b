/** Quadrature on an interval: Gauss-Legendre rules in panels. */

/** Nodes and weights on [-1, 1]. */
interface Rule {
  nodes: readonly number[]
  weights: readonly number[]
}

/** Nodes in one panel. */
const NODES = 16
const RULE = gaussLegendre(NODES)

/** Nodes with their weights on an interval, in panels of at most that width: 16 nodes each. */
export function panels(from: number, to: number, widest: number): [number, number][] {
  const count = Math.ceil((to - from) / widest)
  const half = (to - from) / count / 2
  return Array.from({length: count}, (_, panel) =>
    RULE.nodes.map((node, i): [number, number] => [
      from + half * (2 * panel + 1 + node),
      half * RULE.weights[i]!,
    ]),
  ).flat()
}

/**
 * Gauss-Legendre nodes by Newton's iteration from `cos(pi (i + 3/4) / (n + 1/2))`.
 *
 * Source: Press et al. 2007, Numerical Recipes, section 4.6.
 */
function gaussLegendre(count: number): Rule {
  const nodes = Array.from({length: count}, (_, i) => {
    let node = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5))
    for (let step = 0; step < 8; step++) {
      const {value, slope} = legendre(count, node)
      node -= value / slope
    }
    return node
  })
  const weights = nodes.map(node => 2 / ((1 - node * node) * legendre(count, node).slope ** 2))
  return {nodes, weights}
}

/** The Legendre polynomial of that degree and its derivative. */
function legendre(degree: number, at: number): {value: number; slope: number} {
  let [before, value] = [1, at]
  for (let n = 2; n <= degree; n++) {
    ;[before, value] = [value, ((2 * n - 1) * at * value - (n - 1) * before) / n]
  }
  return {value, slope: (degree * (at * value - before)) / (at * at - 1)}
}
