import {hostLoops} from '../../host-loops.js'
import {normals} from '../../random/index.js'
import {inBlocks} from './rows.js'
import type {ProjectionDefinition} from './types.js'

/**
 * Independent standard normal entries, `[M, D]`. The first M rows of a larger draw are the same. Drawn block by block
 * like orthogonal rows, which are made of the same Gaussians, so that estimates of both are paired at any M.
 */
export const iid: ProjectionDefinition = {
  title: 'independent rows',
  rows: 'normal',
  rotationInvariant: true,
  citation: 'Rahimi & Recht 2007',
  draw: (shape, stream) =>
    inBlocks(shape, shape.headDim, (block, rows) =>
      normals(stream('directions', block), rows * shape.headDim),
    ),
  drawAll: ({key, replicate, replicates, heads, numFeatures, headDim, out}) => {
    const own = hostLoops().normalBlocks
    own?.({
      key: key('directions'),
      ...{replicate, head: 0, block: 0, replicates, heads},
      length: numFeatures * headDim,
      blockLength: headDim * headDim,
      out,
    })
    return own !== undefined
  },
}
