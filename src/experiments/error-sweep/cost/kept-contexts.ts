import type {ForwardShape} from '../../method.js'
import {KEPT_CONTEXTS} from '../measure/context.js'
import type {ErrorSweepCell} from '../schema.js'
import {contextBytes} from './memory.js'

/** Cells in their place, with the name of what they are held against. */
interface HeldBlock extends Pick<ErrorSweepCell, 'layer' | 'seq_len' | 'scale'> {
  exactName: string
}

interface Kept {
  id: string
  input: string
  bytes: ReturnType<typeof contextBytes>
}

/** The contexts that a process has in memory on its way through the cells. */
export class KeptContexts {
  private readonly kept = new Map<string, Kept>()
  private made = 0

  /** @returns the name of a block's context, another one where it is made again, and the bytes of all that are kept with it */
  visit({layer, seq_len, scale, exactName}: HeldBlock, shape: ForwardShape) {
    const {kept} = this
    const input = `${layer} ${shape.headDim} ${seq_len} ${scale}`
    const name = `${input} ${exactName}`
    const own = kept.get(name) ?? {
      id: `context ${this.made++}`,
      input,
      bytes: contextBytes(shape, scale),
    }
    if (!kept.has(name) && kept.size >= KEPT_CONTEXTS) kept.delete(kept.keys().next().value!)
    kept.set(name, own)
    return {id: own.id, input, bytes: this.bytes}
  }

  private get bytes(): number {
    const all = [...this.kept.values()]
    const inputs = new Map(all.map(({input, bytes}) => [input, bytes.input]))
    const truths = all.map(({bytes}) => bytes.truth)
    return [...inputs.values(), ...truths].reduce((sum, size) => sum + size, 0)
  }
}
