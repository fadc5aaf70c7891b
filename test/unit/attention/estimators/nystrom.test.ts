import {expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/index.js'
import {useBackend} from '../../../../src/backends/index.js'
import {hostInputs, SMALL} from '../../../helpers/arrays.js'
import {runCase, twinOfCase} from '../../../helpers/estimator-case.js'

await loadEstimators()

it('landmarks and a pseudo-inverse are exact by definition, where every token is one and the inverse has converged', () => {
  const sizes = {...SMALL, batch: 1, heads: 1, queryLen: 23, keyLen: 23, numFeatures: 23}
  const {key, value} = hostInputs(sizes, 4)
  const inputs = {query: key, key, value}
  // the smallest singular value decides how many steps it takes: these are far more
  const options = {iterations: 60}
  const found = twinOfCase({method: 'nystrom', sizes, inputs, options}).out.value
  const exact = twinOfCase({method: 'softmax', sizes, inputs}).out.value
  found.forEach((x, at) => {
    expect(Math.abs(x - exact[at]!)).toBeLessThan(1e-9 * (1 + Math.abs(exact[at]!)))
  })
})

it('the pseudo-inverse takes six steps by default', async () => {
  await useBackend('cpu')
  const out = (options: Record<string, unknown>) =>
    runCase({method: 'nystrom', sizes: SMALL, options}).out
  expect(out({})).toEqual(out({iterations: 6}))
})
