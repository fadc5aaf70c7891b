/** Names of figures within one report. */
import type {Block} from '../document.js'

/** The same blocks with names of figures that no two share: the second of a name ends in `-2`. */
export function withOwnNames(blocks: readonly Block[]): Block[] {
  const taken = new Map<string, number>()
  return blocks.map(block => {
    if (block.kind !== 'figure') return block
    const {name} = block.figure
    const count = (taken.get(name) ?? 0) + 1
    taken.set(name, count)
    return count === 1 ? block : {...block, figure: {...block.figure, name: `${name}-${count}`}}
  })
}
