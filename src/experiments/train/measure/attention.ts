/** The attention of a cell: its options in each layer, and the state that it carries. */
import {attend, type Decoder, decoder, tf} from '../../../attention/index.js'
import {projectionTensor} from '../../../attention/internal.js'
import {supportsOf} from '../../../attention/names.js'
import {RfaError} from '../../../errors.js'
import type {CausalAttention} from '../../../model/trained/index.js'
import {attendOptions, drawOf} from '../../axes.js'
import type {ResolvedMethod} from '../../method.js'
import {MOST_LAYERS, MOST_RUNS, MOST_STEPS, type TrainCell, type TrainResult} from '../schema.js'

/** Attention of all layers, with random vectors that are drawn once or now and then. */
export interface CellAttention {
  attend: CausalAttention
  /** Draws random vectors anew, where a step is to have others. @param step - from 1 */
  before(step: number): void
  /** Draws random vectors that no step has seen. @returns whether there are any to draw */
  refresh(): boolean
  dispose(): void
}

/** The attention of a cell. Layers and runs have different random vectors. */
export function cellAttention(cell: TrainCell): CellAttention {
  const {layers, heads} = cell.model
  const {projection, num_features: numFeatures, key_dim: headDim, redraw} = cell
  const drawn = (layer: number, epoch: number) => {
    const replicate = (epoch * MOST_RUNS + cell.run) * MOST_LAYERS + layer
    const options = attendOptions({...cell, causal: true}, replicate)
    if (projection === null) return {options, rows: undefined}
    const draw = {name: projection, heads, numFeatures: numFeatures!, headDim}
    const rows = tf.keep(projectionTensor({...draw, ...drawOf(cell, replicate)}))
    return {options: {...options, projection: rows}, rows}
  }
  const all = (epoch: number) => Array.from({length: layers}, (_, layer) => drawn(layer, epoch))
  const free = () => tf.dispose(current.flatMap(({rows}) => rows ?? []))
  const epochOf = (step: number) => (redraw === 0 ? 0 : Math.floor((step - 1) / redraw))
  let epoch = 0
  let current = all(epoch)
  return {
    attend: ({query, key, value, gate, layer}) =>
      attend(query, key, value, {...current[layer]!.options, ...(gate && {gate})}).out,
    before(step) {
      if (epochOf(step) === epoch) return
      free()
      epoch = epochOf(step)
      current = all(epoch)
    },
    refresh() {
      if (projection === null) return false
      free()
      current = all(MOST_STEPS)
      return true
    },
    dispose: free,
  }
}

/** Numbers that a layer carries from token to token at the end of a sequence. */
export function stateSize(
  cell: TrainCell,
  {estimator, options: resolved}: ResolvedMethod,
): Pick<TrainResult, 'state_floats' | 'state_grows'> {
  const {model, key_dim: headDim, task} = cell
  if (!estimator.decoder || !supportsOf(estimator, resolved).decode) {
    return {state_floats: null, state_grows: null}
  }
  const {heads, width} = model
  const valueDim = width / heads
  const own = decoderOf(cell, valueDim)
  if (!own) return {state_floats: null, state_grows: null}
  const bytes: number[] = []
  tf.tidy(() => {
    const token = (size: number) => tf.zeros([1, heads, 1, size])
    const gate = estimator.takesGate ? [tf.fill([1, heads, 1], 0.5)] : []
    for (let at = 0; at < task.length; at++) {
      own.next(token(headDim), token(headDim), token(valueDim), ...gate)
      bytes.push(own.stateBytes)
    }
  })
  own.dispose()
  // a window or a list of landmarks grows at first, and is full later
  const [last, middle] = [bytes.at(-1)!, bytes[Math.floor(bytes.length / 2) - 1] ?? 0]
  return {state_floats: last / FLOAT, state_grows: last > middle}
}

/** The recurrent form of a method; `undefined` where its options leave it without one. */
function decoderOf(cell: TrainCell, valueDim: number): Decoder | undefined {
  const {causal: _, ...options} = attendOptions({...cell, causal: true})
  const sizes = {heads: cell.model.heads, headDim: cell.key_dim, valueDim}
  try {
    return decoder({...options, ...sizes} as Parameters<typeof decoder>[0])
  } catch (error) {
    if (error instanceof RfaError) return undefined
    throw error
  }
}

/** Bytes of a number. */
const FLOAT = 4
