/** Blocks as GitHub-flavoured Markdown, every column included. */
import {type Block, itemText, NO_ROWS, printableBlock, type TableBlock} from './document.js'

/** Renders a report; ends with one newline. */
export function renderMarkdown(blocks: readonly Block[]): string {
  return `${blocks.map(block => renderBlock(printableBlock(block))).join('\n\n')}\n`
}

/** One block; blocks are separated by an empty line. */
function renderBlock(block: Block): string {
  switch (block.kind) {
    case 'heading':
      return `${'#'.repeat(block.level)} ${escaped(block.text)}`
    case 'text':
      return escaped(block.text)
    case 'list':
      return block.items.map(item => `- ${escaped(itemText(item))}`).join('\n')
    case 'table':
      return renderTable(block)
  }
}

/** A pipe table, numbers aligned right, turned where that makes fewer columns. */
function renderTable(block: TableBlock): string {
  const {turned} = block
  const {columns, rows} = turned && turned.columns.length < block.columns.length ? turned : block
  if (rows.length === 0) return NO_ROWS
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rules = columns.map(({align}) => (align === 'right' ? '---:' : '---'))
  return [
    line(columns.map(({title}) => escaped(title))),
    line(rules),
    ...rows.map(row => line(row.map(escaped))),
  ].join('\n')
}

/** Text that Markdown would take for markup, made literal; line breaks become spaces. */
function escaped(content: string): string {
  return content.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/[\\`*_<>|[\]#~&]/g, '\\$&')
}
