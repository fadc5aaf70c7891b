export {characters} from './characters.js'
export {type MqarOptions, mqar} from './mqar.js'
export {selectiveCopy} from './selective-copy.js'
export {type Examples, NO_LABEL, type Task} from './task.js'
