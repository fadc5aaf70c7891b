/** Blocks as terminal text: tables that fit the width, no escape sequences unless asked for. */
import {type Block, type Item, itemText, printableBlock} from './document.js'
import type {Figure} from './figures/figure.js'
import {bold, type Layout} from './layout.js'
import {renderTable} from './terminal-table.js'
import {wrap} from './wrap.js'

/** A figure as text; without any where nothing is to be shown of it. */
export type DrawFigure = (figure: Figure) => string

/**
 * Renders a report; blocks are separated by one empty line, the text ends without one.
 *
 * @param drawFigure - how figures are shown. Default: they are left out
 */
export function renderTerminal(
  blocks: readonly Block[],
  layout: Layout,
  drawFigure: DrawFigure = () => '',
): string {
  const parts = blocks.map(block => renderBlock(printableBlock(block), layout, drawFigure))
  return parts.filter((part, at) => part !== '' || blocks[at]!.kind !== 'figure').join('\n\n')
}

/** One block, without an empty line after it. */
function renderBlock(block: Block, layout: Layout, drawFigure: DrawFigure): string {
  switch (block.kind) {
    case 'heading':
      return wrap(block.text, layout.width)
        .map(line => (layout.colour ? bold(line) : line))
        .join('\n')
    case 'text':
      return wrap(block.text, layout.width).join('\n')
    case 'list':
      return block.items.map(item => renderItem(item, layout.width)).join('\n')
    case 'table':
      return renderTable(block, layout)
    case 'figure':
      return drawFigure(block.figure)
  }
}

/** An item with further lines indented like its first; a command has one line, however long. */
function renderItem(item: Item, width: number): string {
  if (typeof item !== 'string') return `- ${itemText(item)}`
  const [first = '', ...others] = wrap(item, width - 2)
  return [`- ${first}`, ...others.map(line => `  ${line}`)].join('\n')
}
