import {readFile, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {writeTables} from '../../../../src/cli/report/write-tables.js'
import {chosenTables} from '../../../../src/report/chosen.js'
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
    const [file] = await writeTables(blocks, folder, {format: 'csv', force: false, all: blocks})
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

  it('replace those with other columns of the same report, and no file with a title that it cannot have', async () => {
    const folder = await newFolder()
    const all = report(['method', 'M', 'rel L2, "raw"'], ['rfa', '16', '0.5'], ['elu', '-', '1.5'])
    const write = async (columns: string[], pivot?: string) => {
      const blocks = chosenTables(all, {columns, pivot})
      const [file] = await writeTables(blocks, folder, {format: 'csv', force: false, all})
      return readFile(file!, 'utf8')
    }
    expect(await write([])).toMatch(/^method,M,"rel L2, ""raw"""\n/)
    expect(await write(['method', 'rel L2, "raw"'], 'M')).toMatch(/^method,M=16,no M\n/)
    expect(await write(['M', 'rel L2, "raw"'], 'method')).toMatch(/^M,rfa,elu\n/)
    expect(await write(['method'])).toBe('method\nrfa\nelu\n')
    const own = join(folder, 'errors.csv')
    for (const foreign of ['', '\n', 'mine\n1\n', 'method,mine\nrfa,1\n', 'M,"method"\n', '"M\n']) {
      await writeFile(own, foreign)
      await expect(write(['M'])).rejects.toMatchObject({code: 'WOULD_OVERWRITE'})
      expect(await readFile(own, 'utf8')).toBe(foreign)
    }
  })
})
