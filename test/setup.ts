import {bringHostLoops} from '../src/host-loops.js'

// files share processes: without this the loops of the backend that the file before took would stay
bringHostLoops({})
