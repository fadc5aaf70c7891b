import {describe, expect, it} from 'vitest'
import {renderTerminal} from '../../../src/report/terminal.js'
import {varianceReport} from '../../../src/report/variance.js'
import {variance, WIDE} from './fixtures.js'

describe('varianceReport', () => {
  it('prints one row per projection, with its ratio to iid', () => {
    const records = [variance(180, 0.9), variance(0, 0.5)]
    expect(renderTerminal(varianceReport(records), WIDE)).toMatchInlineSnapshot(`
      "Kernel estimates, D=17, 500 replicates

      method     projection   M  norm  angle  kernel  closed form                 variance                vs iid  bias z
      ---------  ----------  --  ----  -----  ------  -----------  -----------------------  --------------------  ------
      favor-pos  iid         32   0.5      0    1.25       0.0800  0.0800 [0.0700, 0.0900]                  1.00   0.500
      favor-pos  orth        32   0.5      0    1.25       0.0800  0.0400 [0.0300, 0.0500]  0.500 [0.375, 0.625]  -0.250
      favor-pos  iid         32   0.5    180    1.25       0.0800  0.0800 [0.0700, 0.0900]                  1.00   0.500
      favor-pos  orth        32   0.5    180    1.25       0.0800  0.0720 [0.0540, 0.0900]   0.900 [0.675, 1.13]  -0.250
      (too wide to show: F, rel MSE)

      variance: of one kernel estimate over replicates, with a 95 % bootstrap interval; closed form: for iid rows; vs iid:
      variance over that of iid rows; bias z: (mean - expectation) in standard errors, beyond about 4 is suspicious.

      - backend wasm"
    `)
  })

  it('shows no bias in standard errors where theory leaves no spread', () => {
    const record = variance(0, 0.5)
    if (record.status !== 'completed') throw new Error('not completed')
    const result = {...record.result, closed_form_variance: 0}
    expect(renderTerminal(varianceReport([{...record, result}]), WIDE)).not.toMatch(
      /^method.*bias z/m,
    )
  })
})
