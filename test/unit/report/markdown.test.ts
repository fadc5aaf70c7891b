import {describe, expect, it} from 'vitest'
import {heading, list, table, text} from '../../../src/report/document.js'
import {renderMarkdown} from '../../../src/report/markdown.js'
import {FIGURE} from '../../helpers/figures.js'

describe('renderMarkdown', () => {
  it('writes headings, paragraphs, lists and tables with every column', () => {
    const blocks = [
      heading(2, 'Error'),
      text('A paragraph.'),
      ...list(['one', 'two']),
      table(
        [
          {title: 'name', align: 'left', cell: () => 'elu'},
          {title: 'error', priority: 9, cell: () => '0.45'},
        ],
        [{}],
      ),
    ]
    expect(renderMarkdown(blocks)).toBe(
      [
        '## Error',
        'A paragraph.',
        '- one\n- two',
        '| name | error |\n| --- | ---: |\n| elu | 0.45 |\n',
      ].join('\n\n'),
    )
  })

  it('makes text literal that Markdown would take for markup', () => {
    const block = table([{title: 'E|x|^2', cell: () => '<b>_*`'}], [{}])
    expect(renderMarkdown([block])).toBe('| E\\|x\\|^2 |\n| ---: |\n| \\<b\\>\\_\\*\\` |\n')
  })

  it('keeps a message of several lines on the line of its item', () => {
    expect(renderMarkdown(list(['first\n  second']))).toBe('- first second\n')
  })

  it('names pictures by addresses, whatever their paths have in them', () => {
    const pictureOf = () => 'runs/a #1? <x>/100%.png'
    const markdown = renderMarkdown([{kind: 'figure', figure: FIGURE}], pictureOf)
    expect(markdown).toContain('![Title of it](<runs/a%20%231%3F%20%3Cx%3E/100%25.png>)')
  })
})
