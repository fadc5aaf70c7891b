/** A decoder: its heads of keys and values are repeated for the heads of queries inside the timed region. */
import type {Decoder} from '../../../attention/index.js'
import {repeatHeads} from '../../../model/repeat-heads.js'
import {tf} from '../../../tf.js'
import {type Heads, keyHeads} from '../fields/grouped.js'

/** A decoder that takes tokens with fewer heads of keys and values, and repeats them in each step, where there are fewer. */
export function groupedDecoder(decoder: Decoder, sizes: Heads): Decoder {
  const {heads} = sizes
  if (keyHeads(sizes) === heads) return decoder
  return {
    next(query: tf.Tensor4D, key: tf.Tensor4D, value: tf.Tensor4D) {
      const full = [repeatHeads(key, heads), repeatHeads(value, heads)] as const
      const out = decoder.next(query, ...full)
      tf.dispose([...full])
      return out
    },
    get stateBytes() {
      return decoder.stateBytes
    },
    get state() {
      return decoder.state
    },
    dispose() {
      decoder.dispose()
    },
  }
}
