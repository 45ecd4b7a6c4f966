module.exports = require('./tools.cjs').config('1.0.0', '2.0.0');
