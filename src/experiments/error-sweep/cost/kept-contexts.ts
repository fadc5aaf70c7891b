import type {DrawGrid} from '../../axes.js'
import type {ForwardShape} from '../../method.js'
import {KEPT_CONTEXTS} from '../measure/context.js'
import type {ErrorSweepCell} from '../schema.js'
import {contextBytes} from './memory.js'

/** A block of cells, with the name of what it is held against. */
interface HeldBlock extends Pick<ErrorSweepCell, 'layer' | 'seq_len' | 'scale'> {
  exactName: string
  draws: Pick<DrawGrid, 'length'>
}

/** A context in memory. */
interface Kept {
  input: string
  bytes: ReturnType<typeof contextBytes>
  /** Cells that had it so far. */
  cells: number
}

/** The contexts that a process has in memory on its way through the cells. */
export class KeptContexts {
  private readonly kept = new Map<string, Kept>()

  /** @returns the context of a block, how many cells had it before, and the bytes of all that are kept with it */
  visit({layer, seq_len, scale, exactName, draws}: HeldBlock, shape: ForwardShape) {
    const {kept} = this
    const input = `${layer} ${shape.headDim} ${seq_len} ${scale}`
    const id = `${input} ${exactName}`
    const own = kept.get(id) ?? {input, bytes: contextBytes(shape, scale), cells: 0}
    if (!kept.has(id) && kept.size >= KEPT_CONTEXTS) kept.delete(kept.keys().next().value!)
    const before = own.cells
    own.cells += draws.length
    kept.set(id, own)
    return {id, cells: before, bytes: this.bytes}
  }

  private get bytes(): number {
    const all = [...this.kept.values()]
    const inputs = new Map(all.map(({input, bytes}) => [input, bytes.input]))
    const truths = all.map(({bytes}) => bytes.truth)
    return [...inputs.values(), ...truths].reduce((sum, size) => sum + size, 0)
  }
}
