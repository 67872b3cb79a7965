/** Id of the owner of the public images: the operator of the cloud, who has no account in it. */
export const operator = '6f8a4c1b-5d14-4bae-a8cd-cc7c71d5cdad';
