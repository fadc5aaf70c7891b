import {fileURLToPath} from 'node:url'
import {beforeAll, describe, it} from 'vitest'
import {type BackendName, useBackend} from '../../src/backends/index.js'
import {runnableBackends} from '../helpers/backends.js'
import {CaseArrays, readManifest, requestOf} from './cases.js'
import {checkCase} from './check-case.js'

const folder =
  process.env.RFA_GOLDEN_DIR ?? fileURLToPath(new URL('../../fixtures/golden', import.meta.url))
const backends = (process.env.RFA_GOLDEN_BACKEND?.split(',') ??
  (await runnableBackends())) as BackendName[]
const manifest = readManifest(folder)

describe.each(backends)('golden cases on %s', backend => {
  beforeAll(() => useBackend(backend))

  for (const golden of manifest) {
    it(golden.name, async () => {
      const arrays = await CaseArrays.read(folder, golden)
      checkCase(golden, arrays, requestOf(golden, arrays))
    })
  }
})
