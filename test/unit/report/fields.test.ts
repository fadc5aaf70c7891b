import {describe, expect, it} from 'vitest'
import {allExperiments} from '../../../src/experiments/index.js'
import {fieldsReport, tableFacts} from '../../../src/report/fields.js'
import {renderTerminal} from '../../../src/report/terminal.js'
import {WIDE} from '../../helpers/terminal.js'

const experiments = await allExperiments()
const tables = experiments.flatMap(tableFacts)
const columnsOf = (name: string, at = 0) =>
  new Map(
    tables.filter(({experiment}) => experiment === name)[at]!.columns.map(own => [own.name, own]),
  )

describe('tableFacts', () => {
  it('says of every column of every table what it is', () => {
    expect(tables.length).toBeGreaterThan(experiments.length)
    for (const {file, columns} of tables) {
      for (const {name, type, meaning} of columns) {
        expect(meaning, `${file} ${name}`).toMatch(/^\S.*\.$/)
        expect(type, `${file} ${name}`).toMatch(/\S/)
      }
    }
  })

  it('has type and unit, those of parts of an object too', () => {
    const sweep = columnsOf('error-sweep')
    expect(sweep.get('target')!.type).toBe('raw | matched')
    expect(sweep.get('causal')!.type).toBe('true | false')
    expect(sweep.get('operations')!.type).toBe('name=value, joined by ;')
    expect(sweep.get('input_paths')!.type).toBe('text, joined by ;')
    expect(sweep.get('row_kl_nats_median')).toMatchObject({type: 'number', unit: 'nats'})
    expect(sweep.get('rel_l2_median')!.unit).toBeNull()
    expect(sweep.get('rel_l2_median')!.meaning).toBe(
      '|estimate - exact| / |exact|, Euclidean, over all outputs. Median over replicates.',
    )
  })

  it('distinguishes what was requested from what was used', () => {
    const sweep = columnsOf('error-sweep')
    expect(sweep.get('seq_len')!.meaning).toContain('queries used')
    expect(columnsOf('error-sweep', 1).get('seq_len')!.meaning).toContain('queries used')
    expect(sweep.get('requested_backend')!.meaning).toContain('Requested')
    expect(sweep.get('backend')!.meaning).toContain('computed')
  })
})

describe('fieldsReport', () => {
  it('has a table per file', () => {
    const [first] = tables
    const shown = renderTerminal(
      fieldsReport([{...first!, columns: first!.columns.slice(0, 3)}]),
      WIDE,
    )
    expect(shown).toMatch(/^error-sweep: records.csv\n\ncolumn +unit or type +meaning\n/)
    expect(shown).toMatch(/^status +completed \| skipped \| failed +How the cell ended/m)
  })
})
