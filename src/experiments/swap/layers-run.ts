/** Work of a swap, counted in layers. */
import type {SwapCell} from './schema.js'

/**
 * Layers that a cell runs for each draw: what comes before the first exchanged layer is the original, unless the weights are of
 * another model. With a budget the most that its search may run: all layers at once, each
 * by itself, then sets of two or more.
 *
 * @param count - layers of the model
 */
export function layersRun(
  {layers, budget, original}: Pick<SwapCell, 'layers' | 'budget' | 'original'>,
  count: number,
): number {
  const from = (layer: number) => (original ? count : count - layer)
  const whole = from(Math.min(...layers))
  if (budget === undefined) return whole
  const single = layers.reduce((sum, layer) => sum + from(layer), 0)
  return single + jointSets(layers.length) * whole
}

/** How often effects of a set of layers are measured: once, or with a budget at most for every set that its search tries. */
export function setsRun({layers, budget}: Pick<SwapCell, 'layers' | 'budget'>): number {
  return budget === undefined ? 1 : layers.length + jointSets(layers.length)
}

/** Sets of two or more that a search may try: all layers, and each one that a further layer joins. */
function jointSets(layers: number): number {
  return layers > 2 ? layers : layers - 1
}
