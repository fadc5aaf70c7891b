import {describe, expect, it} from 'vitest'
import {varianceReport} from '../../../../../src/experiments/variance/report/report.js'
import {renderMarkdown} from '../../../../../src/report/markdown.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import {
  UNMEASURED,
  type VarianceRow,
  variance,
  withRows,
} from '../../../../helpers/records/variance.js'
import {WIDE} from '../../../../helpers/terminal.js'

describe('varianceReport', () => {
  it('prints one row per projection, with its ratio to iid', () => {
    const records = [variance({angle_deg: 180}, 0.9), variance()]
    expect(renderTerminal(varianceReport(records), WIDE)).toMatchInlineSnapshot(`
      "Kernel estimates, D=17, M=32, 500 replicates

      method     projection  norm  angle  kernel  closed form                 variance                vs iid  bias z  rel MSE
      ---------  ----------  ----  -----  ------  -----------  -----------------------  --------------------  ------  -------
      favor-pos  iid          0.5      0    1.25       0.0800  0.0800 [0.0700, 0.0900]                     -   0.500   0.0500
      favor-pos  orth         0.5      0    1.25     (0.0800)  0.0400 [0.0300, 0.0500]  0.500 [0.375, 0.625]  -0.250   0.0300
      favor-pos  iid          0.5    180    1.25       0.0800  0.0800 [0.0700, 0.0900]                     -   0.500   0.0500
      favor-pos  orth         0.5    180    1.25     (0.0800)  0.0720 [0.0540, 0.0900]   0.900 [0.675, 1.13]  -0.250   0.0300
      (hidden: F, error; widen the terminal or pipe to less -S)

      Verdicts

      - Unbiased: yes, largest |z| 0.500 of 4 measured rows (bound 2.50, 5 % for all of them together).
      - favor-pos, variance as theory says: yes, measured over closed form 1.00, 95 % intervals cover it in 2 of 2 measured
        rows.
      - favor-pos, orth rows vary less than iid ones: yes, 0.500 to 0.900 of the variance of iid ones (95 % intervals exclude
        1 in 1 of 2 measured pairs).

      - closed form: exact variance of one kernel estimate with these rows; in brackets that of iid rows, where no other is
        known
      - variance: measured over replicates, with a 95 % interval; 0: rounding alone; too few draws: fewer than needed to
        measure the tail to 10 %
      - error: relative standard error of the variance; t: draws are tilted, made where the moments of the estimate are, each
        with a weight
      - z: ln(variance / closed form) in standard errors; bias z: (mean - expectation) in standard errors
      - vs iid: variance over that of iid rows at equal M, with a 95 % interval, and exactly; bound: upper bound of Theorem 2
        (arXiv:2009.14794v3) for orthogonal rows
      - verdicts judge all rows of a question together (Bonferroni): about 5 % of runs have a false no; yes: no row speaks
        against it and, of projections, some pair varies less; inconclusive: nothing was measured, or no ratio is far enough
        from 1

      - backend wasm"
    `)
  })

  it('shows no bias in standard errors where none was measured', () => {
    const record = changed({bias_z: null})
    const shown = renderTerminal(varianceReport([record]), WIDE)
    expect(shown).not.toMatch(/^method.*bias z/m)
    expect(shown).toContain('Unbiased: inconclusive at 500 draws, no row was measured')
  })

  it('shows what is needed where nothing was measured, and no number of a sample', () => {
    const shown = renderTerminal(varianceReport([changed(WITHHELD)]), WIDE)
    expect(shown).toMatch(
      /favor-pos +iid +32 +0\.5 +0 +1\.25 +0\.0800 +too few draws \(needs 12500\)$/m,
    )
    expect(shown).not.toMatch(/^method.*(bias z|vs iid|rel MSE)/m)
    const never = {...WITHHELD, needed_replicates: null}
    expect(renderTerminal(varianceReport([changed(never)]), WIDE)).toContain(
      'no number of draws is enough',
    )
  })

  it('marks a bias beyond the bound for all rows together, and says so once', () => {
    const [fine, beyond] = [variance(), changed({bias_z: -2.6})]
    const both = renderTerminal(varianceReport([beyond]), WIDE)
    expect(both).toMatch(/-2\.60 \*/)
    expect(both).toContain(
      'Unbiased: no, 2 of 2 measured rows (bound 2.24, 5 % for all of them together) are beyond, marked *; largest |z| 2.60.',
    )
    const many = [fine, fine, beyond, fine]
    expect(renderTerminal(varianceReport(many), WIDE)).toContain(
      'Unbiased: yes, largest |z| 2.60 of 8 measured rows (bound 2.73, 5 % for all of them together).',
    )
  })

  it('says which options are no part of it, what is estimated, and what features were set by', () => {
    const record = variance()
    const cell = {...record.cell, preset: 'google-slim' as const}
    const result = {
      ...record.result,
      kernel: 'M exp(x.y)',
      without_effect: {denGuard: 'a guard is none'},
      calibration_pairs: 256,
    }
    const shown = renderMarkdown(varianceReport([{...record, cell, result}]))
    expect(shown).toContain('favor-pos (google-slim): kernel M exp(x.y)')
    expect(shown).toContain('favor-pos (google-slim): denGuard has no part in it: a guard is none')
    expect(shown).toContain('favor-pos (google-slim): set by 256 other pairs')
  })

  it('says which rows are seen from all directions, and that raw signs are not', () => {
    const {cell, ...record} = variance()
    const rows = record.result.per_projection.map(row => ({
      ...row,
      ...(row.projection === 'orth' && {projection: 'sobol', all_directions: true}),
    }))
    const result = {...record.result, per_projection: rows}
    const shown = (orth_sign: 'haar' | 'raw') =>
      renderTerminal(varianceReport([{...record, cell: {...cell, orth_sign}, result}]), WIDE)
    expect(shown('haar')).toMatch(/^favor-pos +sobol \(all directions\) /m)
    expect(shown('haar')).toContain('sobol (all directions) rows vary less than iid ones')
    expect(shown('haar')).toContain('all directions: rows of sobol treat directions differently')
    expect(shown('haar')).not.toContain('raw signs')
    expect(shown('raw')).toContain('raw signs: rows with them treat directions differently')
  })

  it('keeps variance and needs in 80 columns', () => {
    const records = [changed(WITHHELD), variance({angle_deg: 180}, 0.9)]
    const shown = renderTerminal(varianceReport(records), {...WIDE, width: 80})
    for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(shown).toMatch(/^method +projection +F +norm +angle +closed form +variance/m)
  })
})

const WITHHELD = {
  ...UNMEASURED,
  withheld: '500 replicates are too few for this tail',
  ...{variance_relative_standard_error: 0.5, needed_replicates: 12_500},
}

/** A record with other numbers in all its rows. */
const changed = (row: Partial<VarianceRow>) => withRows(variance(), () => row)
