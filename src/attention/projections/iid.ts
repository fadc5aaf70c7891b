import {normals} from '../../random/index.js'
import type {ProjectionDefinition} from './types.js'

/** Independent standard normal entries, `[M, D]`. The first M rows of a larger draw are the same. */
export const iid: ProjectionDefinition = {
  title: 'independent rows',
  rows: 'normal',
  citation: 'Rahimi & Recht 2007',
  draw: ({numFeatures, headDim}, stream) => normals(stream('directions'), numFeatures * headDim),
}
