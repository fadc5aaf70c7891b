/** Where queries, keys and values come from: files, generators, and what can be said about them. */
export {
  type AttentionArray,
  type AttentionInput,
  checkAttentionShapes,
  firstRows,
  toAttentionArray,
} from './attention-input.js'
export {
  ARRAY_EXTENSIONS,
  type ArrayEntry,
  type ArrayExtension,
  type ArrayFile,
  type ArrayReader,
  arrayExtension,
  openArrays,
  readArrays,
  writeArrays,
} from './files/index.js'
export {
  GENERATOR_NAMES,
  GENERATORS,
  type Generator,
  type GeneratorName,
  type GeneratorShape,
  generate,
} from './generators/index.js'
export {loadInput} from './load.js'
export {type Dtype, elementCount, type NdArray, type TypedArray, toFloat32} from './nd-array.js'
export {inputStatistics, rowEntropies, type StatisticsOptions} from './statistics.js'
