import {type Figure, figureWithTexts} from './figures/figure.js'
import {printable} from './printable.js'
import {type TableBlock, table, tableWithTexts} from './table.js'

export {
  type ColumnSpec,
  NO_ROWS,
  rowsLeftOut,
  shownForm,
  type TableBlock,
  type TableColumn,
  table,
} from './table.js'

/**
 * A report as plain data, before anyone knows whether it becomes terminal text or Markdown.
 *
 * Experiments build blocks; terminal.ts and markdown.ts render them.
 */
export type Block =
  | {kind: 'heading'; level: 1 | 2 | 3; text: string}
  | {kind: 'text'; text: string}
  | {kind: 'list'; items: readonly Item[]}
  | TableBlock
  | FigureBlock

/** A line of a list; a command is never broken, so that it can be copied. */
export type Item = string | {label: string; command: string}

/** A figure. Plain text does not show it: its numbers are in tables. */
export interface FigureBlock {
  kind: 'figure'
  figure: Figure
}

export function itemText(item: Item): string {
  return typeof item === 'string' ? item : `${item.label}: ${item.command}`
}

/** A heading. @param level - 1 is the title of the report */
export function heading(level: 1 | 2 | 3, text: string): Block {
  return {kind: 'heading', level, text}
}

/** A paragraph. */
export function text(content: string): Block {
  return {kind: 'text', text: content}
}

/** A bulleted list, or nothing when there is nothing to list. */
export function list(items: readonly Item[]): Block[] {
  return items.length > 0 ? [{kind: 'list', items}] : []
}

/** Facts by their names, a row each. */
export function factTable(facts: readonly (readonly [name: string, value: string])[]): TableBlock {
  return table(
    [
      {title: 'fact', align: 'left', cell: ([name]) => name},
      {title: 'value', flexible: true, cell: ([, value]) => value},
    ],
    facts,
  )
}

/** The same block with everything unprintable written out, on lines that renderers break: what they start from. */
export function printableBlock<Kind extends Block>(block: Kind): Kind {
  return withTexts(block, content => printable(content).replaceAll(/\s*\n\s*/g, ' ')) as Kind
}

/** The same block with every text in it changed; of a title of several lines each by itself. */
export function withTexts(block: Block, change: (content: string) => string): Block {
  switch (block.kind) {
    case 'heading':
    case 'text':
      return {...block, text: change(block.text)}
    case 'list':
      return {...block, items: block.items.map(item => itemWithTexts(item, change))}
    case 'table':
      return tableWithTexts(block, change)
    case 'figure':
      return {kind: 'figure', figure: figureWithTexts(block.figure, change)}
  }
}

function itemWithTexts(item: Item, change: (content: string) => string): Item {
  if (typeof item === 'string') return change(item)
  return {label: change(item.label), command: change(item.command)}
}

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
