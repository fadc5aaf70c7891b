import {METHOD_NAMES, methodNames} from '../src/attention/estimators/index.js'
import {bringHostLoops} from '../src/host-loops.js'

// files share processes: without this the loops of the backend that the file before took would stay
bringHostLoops({})

const left = methodNames().slice(METHOD_NAMES.length)
if (left.length > 0) {
  throw new Error(
    `a file before this one registered ${left}: it belongs to ALONE in vitest.config.ts`,
  )
}
