/** Decoders over named state tensors, as every backend has them: each step makes new ones and frees the old. */
import {tf} from '../../../tf.js'
import {disposed} from '../../check-tensor.js'
import {recordForm} from '../../kernels/dispatch.js'
import type {Decoder} from '../../types.js'

/** Query `[B, H, 1, D]`, key `[B, H, 1, D]` and value `[B, H, 1, Dv]` of one token. */
export type Tokens = [query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D]

/** Bytes of a set of float32 tensors. */
export function bytesOf(state: Record<string, tf.Tensor>): number {
  return Object.values(state).reduce((sum, tensor) => sum + tensor.size * 4, 0)
}

/** Refuses state that was disposed of. @throws {BAD_OPTION} */
function checkState(state: Readonly<Record<string, tf.Tensor>>): void {
  for (const name in state) if (state[name]?.isDisposed) throw disposed(`decoder.state.${name}`)
}

/**
 * A decoder over named state tensors: `step` returns the new state and the output, the old one is freed.
 *
 * @param operation - its name in records
 */
export function statefulDecoder<State extends Record<string, tf.Tensor>>(
  operation: string,
  initial: State,
  step: (state: State, tokens: Tokens, gate?: tf.Tensor3D) => {state: State; out: tf.Tensor4D},
): Decoder {
  let state = initial
  // beyond the tidy that a decoder may be made in
  for (const tensor of Object.values(state)) tf.keep(tensor)
  return {
    next(query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D, gate?: tf.Tensor3D) {
      checkState(state)
      const old = state
      recordForm(operation, 'composite')
      return tf.tidy(() => {
        const result = step(state, [query, key, value], gate)
        for (const tensor of Object.values(result.state)) tf.keep(tensor)
        state = result.state
        // a step may hand a tensor on as it is
        for (const [name, tensor] of Object.entries(old)) {
          if (state[name] !== tensor) tensor.dispose()
        }
        return result.out
      })
    },
    get stateBytes() {
      return bytesOf(state)
    },
    get state() {
      return state
    },
    dispose() {
      tf.dispose(state)
    },
  }
}

/** A decoder that also frees tensors made for it; `next` may wrap its own. */
export function extendedDecoder(
  inner: Decoder,
  owned: tf.Tensor[],
  next: Decoder['next'] = inner.next,
): Decoder {
  return {
    next,
    get stateBytes() {
      return inner.stateBytes
    },
    get state() {
      return inner.state
    },
    dispose() {
      inner.dispose()
      tf.dispose(owned)
    },
  }
}
