import {describe, expect, it} from 'vitest'
import {heading, table} from '../../../src/report/document.js'
import {latexTables} from '../../../src/report/latex.js'

const rows = [
  ['a_b', '50 %', '1.0 ±8%'],
  ['[low]', '\\x{y}', '~^<|>$#&'],
] as const
const TABLE = table<(typeof rows)[number]>(
  [
    {title: 'name\nof it', align: 'left', cell: ([name]) => name},
    {title: 'share', cell: ([, share]) => share},
    {title: 'value', cell: ([, , value]) => value},
  ],
  rows,
)

describe('tables as LaTeX', () => {
  it('have a line for each row between the rules of booktabs, and escape everything', () => {
    const text = latexTables([heading(1, 'Run: /a/b'), heading(2, 'Errors_1'), TABLE])[0]!.text
    expect(text).toBe(
      [
        '% written by rfa report',
        '% needs \\usepackage{booktabs}',
        '\\begin{table}',
        '  \\centering',
        '  \\caption{Errors\\_1}',
        '  \\label{tab:errors-1}',
        '  \\begin{tabular}{lrr}',
        '    \\toprule',
        '    name of it & share & value \\\\',
        '    \\midrule',
        '    a\\_b & 50 \\% & 1.0 $\\pm$8\\% \\\\',
        '    {}[low] & \\textbackslash{}x\\{y\\} & \\textasciitilde{}\\textasciicircum{}\\textless{}\\textbar{}\\textgreater{}\\$\\#\\& \\\\',
        '    \\bottomrule',
        '  \\end{tabular}',
        '\\end{table}',
        '',
      ].join('\n'),
    )
  })

  it('have names of their own', () => {
    const blocks = [heading(1, 'Run'), TABLE, heading(2, 'Errors!'), TABLE, TABLE]
    expect(latexTables(blocks).map(({name}) => name)).toEqual(['run', 'errors', 'errors-2'])
  })

  it('mark the best, and say what is marked', () => {
    const best = {what: 'lowest error', how: 'of all', rows: new Set([1])}
    const columns = TABLE.columns.map((column, at) => (at === 2 ? {...column, best} : column))
    const text = latexTables([{...TABLE, columns}])[0]!.text
    expect(text).toContain('& \\textbf{\\textasciitilde{}')
    expect(text).toContain('\\footnotesize Bold: lowest error, of all.')
  })
})
