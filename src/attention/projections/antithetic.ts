import {normals} from '../../random/index.js'
import type {ProjectionDefinition} from './types.js'

/**
 * Independent pairs w, -w, one after the other; an odd M leaves the last row single. Features that
 * are even in w (hyperbolic, trigonometric) see each pair as one row: their variance doubles.
 */
export const antithetic: ProjectionDefinition = {
  title: 'independent pairs w, -w',
  rows: 'normal',
  rotationInvariant: true,
  citation: 'Hammersley & Morton 1956, Proc. Cambridge Phil. Soc. 52',
  draw: ({numFeatures, headDim}, stream) => {
    const half = normals(stream('directions'), Math.ceil(numFeatures / 2) * headDim)
    return Float64Array.from({length: numFeatures * headDim}, (_, at) => {
      const row = Math.floor(at / headDim)
      const x = half[Math.floor(row / 2) * headDim + (at % headDim)]!
      return row % 2 === 0 ? x : -x
    })
  },
}
