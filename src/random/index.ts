export {philox4x32} from './philox.js'
export {normals, type RandomStream, randomStream} from './stream.js'
