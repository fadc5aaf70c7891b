/** Learned parameters of tests: small, with numbers that tell heads, draws and layers apart. */
import {
  hasLearnedRows,
  type Tuned,
  type TunedLayer,
  type TunedParameters,
} from '../../src/tuned/index.js'

/** How many sets of parameters each layer has, and which layers there are. */
interface Sizes {
  layers?: readonly (number | undefined)[]
  draws?: number
}

/** Parameters of favor-pos with maps near the identity. @param facts - what differs from the ordinary ones */
export function exampleTuned(
  facts: Partial<Omit<Tuned, 'layers'>> = {},
  {layers = [0], draws = 1}: Sizes = {},
): Tuned {
  const tuned: Omit<Tuned, 'layers'> = {
    ...{method: 'favor-pos', preset: 'exact', options: {}, projection: 'orth', numFeatures: 8},
    ...{causal: false, heads: 2, keyHeads: 2, headDim: 4, learned: 'maps', loss: 'outputs'},
    ...{sequential: false, seed: 0, model: null},
    ...facts,
  }
  const ofLayer = (layer: number | undefined, at: number): TunedLayer => ({
    layer,
    scale: tuned.headDim ** -0.5,
    heldOut: {before: 0.9 + at, after: 0.5 + at},
    sets: Array.from({length: hasLearnedRows(tuned) ? draws : 1}, (_, draw) =>
      parametersOf(tuned, 10 * at + draw),
    ),
  })
  return {...tuned, layers: layers.map(ofLayer)}
}

function parametersOf(tuned: Omit<Tuned, 'layers'>, place: number): TunedParameters {
  const {heads, keyHeads, headDim, numFeatures} = tuned
  const rows = heads * (numFeatures ?? 0) * headDim
  return {
    queryMap: maps(heads, headDim, place + 1),
    keyMap: maps(keyHeads, headDim, place + 2),
    ...(hasLearnedRows(tuned) && {
      projection: Float32Array.from({length: rows}, (_, i) => Math.sin(i + place)),
    }),
  }
}

/** `[heads, dim, dim]`: identities with small numbers that all differ. */
function maps(heads: number, dim: number, place: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({length: heads * dim * dim}, (_, i) => {
    const [row, column] = [Math.floor(i / dim) % dim, i % dim]
    return (row === column ? 1 : 0) + 0.05 * Math.sin(3 * i + place)
  })
}
