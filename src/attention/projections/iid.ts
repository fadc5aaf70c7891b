import {normals} from '../../random/index.js'
import type {MatrixShape, StreamOf} from './index.js'

/** Independent standard normal entries, `[M, D]`. The first M rows of a larger draw are the same. */
export function iidRows({numFeatures, headDim}: MatrixShape, stream: StreamOf): Float64Array {
  return normals(stream('directions'), numFeatures * headDim)
}
