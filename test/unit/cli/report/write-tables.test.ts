import {readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {writeTables} from '../../../../src/cli/report/write-tables.js'
import {type Block, heading, table} from '../../../../src/report/document.js'
import {newFolder} from '../../../helpers/folders.js'

const report = (titles: readonly string[], ...rows: string[][]): Block[] => [
  heading(2, 'Errors'),
  table(
    titles.map((title, at) => ({title, cell: (row: string[]) => row[at]!})),
    rows,
  ),
]

describe('tables as CSV', () => {
  it('have empty fields for what is missing, numbers as they are, and other texts that start like formulas escaped', async () => {
    const folder = await newFolder()
    const blocks = report(
      ['method', 'gain\nmedian', 'note'],
      ['rfa', '-0.5', '-0.5 [-0.6, -0.4]'],
      ['elu', '-1.25e-7', '=1+1'],
      ['exact', '-', '-'],
      ['relu', '1.00', '-2 %'],
    )
    const [file] = await writeTables(blocks, folder, {format: 'csv', force: false})
    expect(file).toBe(join(folder, 'errors.csv'))
    expect((await readFile(file!, 'utf8')).split('\n')).toEqual([
      'method,gain median,note',
      `rfa,-0.5,"'-0.5 [-0.6, -0.4]"`,
      `elu,-1.25e-7,'=1+1`,
      'exact,,',
      `relu,1.00,'-2 %`,
      '',
    ])
  })
})
