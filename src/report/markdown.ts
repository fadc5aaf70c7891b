/** Blocks as GitHub-flavoured Markdown, every column included. */
import {bestLegend} from './best.js'
import {
  type Block,
  type FigureBlock,
  itemText,
  NO_ROWS,
  printableBlock,
  rowsLeftOut,
  shownForm,
  type TableBlock,
} from './document.js'
import {type Figure, figureWithTexts} from './figures/figure.js'
import {printable} from './printable.js'

/** Where the picture of a figure is; `undefined`: nowhere. */
export type PictureOf = (figure: Figure) => string | undefined

/**
 * Renders a report; ends with one newline.
 *
 * @param pictureOf - path of a picture as the Markdown file names it. Default: there are none, and figures are left out
 */
export function renderMarkdown(
  blocks: readonly Block[],
  pictureOf: PictureOf = () => undefined,
): string {
  const parts = blocks.map(block =>
    block.kind === 'figure'
      ? renderFigure(block.figure, pictureOf)
      : renderBlock(printableBlock(block)),
  )
  return `${parts.filter((part, at) => part !== '' || blocks[at]!.kind !== 'figure').join('\n\n')}\n`
}

/** A figure by its picture, its title in the place of that where it cannot be shown, and its caption. */
function renderFigure(figure: Figure, pictureOf: PictureOf): string {
  const path = pictureOf(figure)
  if (path === undefined) return ''
  const {title, caption} = figureWithTexts(figure, content => escaped(printable(content)))
  return `![${title}](<${urlOf(path)}>)\n\n${title}. ${caption}`
}

/** A path as an address, in which its `?` and `#` are letters. */
function urlOf(path: string): string {
  return encodeURI(path).replaceAll('?', '%3F').replaceAll('#', '%23')
}

/** One block; blocks are separated by an empty line. */
function renderBlock(block: Exclude<Block, FigureBlock>): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${escaped(block.text)}`
    case 'text':
      return escapedLine(block.text)
    case 'list':
      return block.items.map(item => `- ${escapedLine(itemText(item))}`).join('\n')
    case 'table':
      return renderTable(block)
  }
}

/** A pipe table, numbers aligned right, turned where that makes fewer columns. */
function renderTable(block: TableBlock): string {
  const {columns, rows, all = rows.length} = shownForm(block)
  const note = rowsLeftOut(rows.length, all)
  if (rows.length === 0) return NO_ROWS
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const legend = bestLegend(columns, BEST)
  const rules = columns.map(({align}) => (align === 'right' ? '---:' : '---'))
  return [
    line(columns.map(({title}) => escaped(title))),
    line(rules),
    ...rows.map((row, at) =>
      line(row.map((cell, column) => marked(escaped(cell), columns[column]?.best?.rows.has(at)))),
    ),
    ...(legend === undefined ? [] : ['', escapedLine(legend)]),
    ...(note === undefined ? [] : ['', note]),
  ].join('\n')
}

/** Before the best values, which are bold, for those who do not see that. */
const BEST = '★'

function marked(cell: string, isBest = false): string {
  return isBest ? `${BEST} **${cell}**` : cell
}

/** Text that Markdown would take for markup, made literal; line breaks become spaces. */
function escaped(content: string): string {
  return content.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/[\\`*_<>|[\]#~&]/g, '\\$&')
}

/** The same where a line begins: what would make it a list, a rule or code is made literal, too. */
function escapedLine(content: string): string {
  return escaped(content.trimStart())
    .replace(/^[-+](?=\s|$)|^-(?=[-\s]*$)/, '\\$&')
    .replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2')
}
